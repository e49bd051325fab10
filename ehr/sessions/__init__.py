"""Sessions: a task for an agent written elsewhere, in any language, that speaks plain FHIR to an address of its own.

    sessions = Sessions(suite, folder, "http://127.0.0.1:8080")
    opened = sessions.open({"task": "ehr/record-weight/0001", "agent": "mine"})     # what the agent is told
    sessions.fhir(secret, request)                                                  # its requests
    sessions.finish(opened.session, {"outcome": "done"})                            # the verdicts

Rules:

- An address holds an unguessable secret, and a session's name another: who knows the one does not know the other, and
  nobody finds a session by trying. Two sessions never see each other: each has a fork of its own.
- What is expected is never told, before or after: the verdicts come without it. It stands in the run's folder.
- A session ends by `finish`, or when its time is over. What was sent in one that ran out is kept as an episode that
  ended with `wall_time`, which nobody scores; one in which nothing was sent leaves nothing.
- An episode's calls are its requests. Beside each the baselines `idle` and `blind` play the same task, because a score
  says little without them.
"""

from ehr.sessions.documents import OpenTasks, SessionDocument, VerdictsDocument
from ehr.sessions.kept import about_sessions
from ehr.sessions.request import SessionError
from ehr.sessions.sessions import Sessions

__all__ = [
    "OpenTasks",
    "SessionDocument",
    "SessionError",
    "Sessions",
    "VerdictsDocument",
    "about_sessions",
]
