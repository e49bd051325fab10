"""Experiments: runs, judges and one primary comparison, named in a file before anything is played."""

from readback.experiment.file import Experiment, ExperimentError, read_experiment

__all__ = ["Experiment", "ExperimentError", "read_experiment"]
