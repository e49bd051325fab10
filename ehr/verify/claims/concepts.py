"""What people measure in patients: the LOINC codes of each measure, and the words that people have for it.

Only common measures with common words: a chart's own names (`code.text`, `display`) are read beside these, so what is
missing here can still be named as the chart names it. The codes are from LOINC (http://loinc.org), copyright
Regenstrief Institute, Inc., used under the license at http://loinc.org/license; the words are the usual English names
and abbreviations of what each code stands for. `analyte` is the key of its molar mass in `ehr.verify.units.ANALYTES`.

Codes that differ only in the property (mass or moles) or the method are one measure; another specimen is another one
where its values mean something else (urine), and where people keep it apart (capillary glucose).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from ehr.verify.claims.words import Phrase, Vocabulary, phrase
from ehr.verify.units import convert
from harness.values import digest


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing that is measured. `unit` is one in which it is given; others are those that convert.

    It does not convert where two units of it are two scales (the two ways of standardising HbA1c), whatever they are
    made of.
    """

    key: str
    unit: str
    codes: tuple[str, ...]
    analyte: str | None = None
    converts: bool = True

    @property
    def in_percent(self) -> bool:
        """Whether people give it in percent."""
        return self.unit == "%"

    def may_be_in(self, unit: str) -> bool:
        """Whether a value in this unit may be one of it."""
        if unit == self.unit or not self.converts:
            return unit == self.unit
        return convert(Decimal(1), self.unit, unit, analyte=self.analyte) is not None


MEASURES: Mapping[str, Measure] = {
    measure.key: measure
    for measure in (
        Measure("sodium", "mmol/L", ("2951-2", "2947-0"), "sodium"),
        Measure("potassium", "mmol/L", ("2823-3", "6298-4", "2824-1"), "potassium"),
        Measure("chloride", "mmol/L", ("2075-0", "2069-3"), "chloride"),
        Measure("bicarbonate", "mmol/L", ("2028-9", "20565-8", "1963-8", "1959-6", "1960-4"), "bicarbonate"),
        Measure("urea-nitrogen", "mg/dL", ("3094-0", "6299-2"), "urea-nitrogen"),
        Measure("urea", "mg/dL", ("22664-7", "3091-6"), "urea"),
        Measure("creatinine", "mg/dL", ("2160-0", "38483-4", "14682-9"), "creatinine"),
        Measure("glucose", "mg/dL", ("2345-7", "2339-0", "14749-6", "15074-8", "1558-6", "14771-0"), "glucose"),
        Measure("capillary-glucose", "mg/dL", ("41653-7", "2340-8", "32016-8", "14743-9"), "glucose"),
        Measure("calcium", "mg/dL", ("17861-6", "49765-1", "2000-8"), "calcium"),
        Measure("magnesium", "mg/dL", ("19123-9", "2601-3"), "magnesium"),
        Measure("phosphate", "mg/dL", ("2777-1", "14879-1"), "phosphorus"),
        Measure("alt", "U/L", ("1742-6", "1743-4", "1744-2")),
        Measure("ast", "U/L", ("1920-8", "30239-8")),
        Measure("alkaline-phosphatase", "U/L", ("6768-6",)),
        Measure("bilirubin", "mg/dL", ("1975-2", "14631-6"), "bilirubin"),
        Measure("direct-bilirubin", "mg/dL", ("1968-7", "14629-0"), "bilirubin"),
        Measure("albumin", "g/dL", ("1751-7", "61151-7")),
        Measure("protein", "g/dL", ("2885-2",)),
        Measure("globulin", "g/dL", ("10834-0",)),
        Measure("hemoglobin", "g/dL", ("718-7", "59260-0")),
        Measure("hematocrit", "%", ("4544-3", "20570-8", "48703-3")),
        Measure("leukocytes", "10*3/uL", ("6690-2", "26464-8", "804-5")),
        Measure("erythrocytes", "10*6/uL", ("789-8", "26453-1")),
        Measure("mcv", "fL", ("787-2", "30428-7")),
        Measure("mch", "pg", ("785-6",)),
        Measure("mchc", "g/dL", ("786-4",)),
        Measure("platelets", "10*3/uL", ("777-3", "26515-7")),
        Measure("a1c", "%", ("4548-4", "17856-6", "4549-2"), converts=False),
        Measure("a1c-ifcc", "mmol/mol", ("59261-8",), converts=False),
        Measure("cholesterol", "mg/dL", ("2093-3", "14647-2"), "cholesterol"),
        Measure("hdl", "mg/dL", ("2085-9", "14646-4"), "cholesterol"),
        Measure("ldl", "mg/dL", ("13457-7", "18262-6", "2089-1", "22748-8", "39469-2"), "cholesterol"),
        Measure("triglycerides", "mg/dL", ("2571-8", "14927-8")),
        Measure("tsh", "m[IU]/L", ("3016-3", "11580-8")),
        Measure("free-t4", "ng/dL", ("3024-7", "14920-3")),
        Measure("inr", "{INR}", ("6301-6", "34714-6", "46418-0", "38875-1")),
        Measure("crp", "mg/L", ("1988-5", "30522-7")),
        Measure("lactate", "mmol/L", ("2524-7", "32693-4", "2518-9"), "lactate"),
        Measure("troponin-i", "ng/L", ("89579-7", "10839-9")),
        Measure("troponin-t", "ng/L", ("67151-1", "6598-7")),
        Measure("nt-probnp", "pg/mL", ("33762-6",)),
        Measure("bnp", "pg/mL", ("30934-4",)),
        Measure("ferritin", "ng/mL", ("2276-4",)),
        Measure("iron", "ug/dL", ("2498-4", "14798-3"), "iron"),
        Measure("urate", "mg/dL", ("3084-1", "14933-6"), "urate"),
        Measure("urine-albumin", "mg/g", ("9318-7", "14959-1", "32294-1")),
        Measure("egfr", "mL/min/{1.73_m2}", ("98979-8", "33914-3", "62238-1", "48642-3", "48643-1", "77147-7")),
        Measure("d-dimer", "ng/mL", ("48065-7",)),
        Measure("esr", "mm/h", ("4537-7", "30341-2")),
        Measure("blood-ph", "[pH]", ("2744-1", "11558-4", "2746-6")),
        Measure("systolic", "mm[Hg]", ("8480-6", "8459-0", "8460-8", "76534-7")),
        Measure("diastolic", "mm[Hg]", ("8462-4", "8453-3", "8454-1", "76535-4")),
        Measure("arterial-pressure", "mm[Hg]", ("8478-0",)),
        Measure("heart-rate", "/min", ("8867-4", "8893-0")),
        Measure("respiratory-rate", "/min", ("9279-1",)),
        Measure("temperature", "Cel", ("8310-5", "8331-1", "8332-9", "8328-7", "8333-7", "76011-6")),
        Measure("saturation", "%", ("59408-5", "2708-6")),
        Measure("inhaled-oxygen", "%", ("3150-6",)),
        Measure("weight", "kg", ("29463-7", "3141-9", "3142-7")),
        Measure("height", "cm", ("8302-2", "3137-7", "3138-5")),
        Measure("bmi", "kg/m2", ("39156-5",)),
        Measure("pain", "{score}", ("72514-3",)),
        Measure("coma-scale", "{score}", ("9269-2",)),
        Measure("ejection-fraction", "%", ("10230-1", "18043-0")),
    )
}

_WORDS: Mapping[str, tuple[str, ...]] = {
    "sodium": ("sodium", "na", "na+"),
    "potassium": ("potassium", "k", "k+"),
    "chloride": ("chloride", "cl"),
    "bicarbonate": ("bicarbonate", "bicarb", "hco3", "carbon dioxide", "total co2", "co2"),
    "urea-nitrogen": ("urea nitrogen", "blood urea nitrogen", "bun"),
    "urea": ("urea", "blood urea"),
    "creatinine": ("creatinine", "serum creatinine", "creat", "cr"),
    "glucose capillary-glucose": (
        "glucose", "glu", "blood glucose", "blood sugar", "sugar", "blood glucose level", "fasting glucose",
    ),
    "glucose": ("serum glucose", "plasma glucose"),
    "capillary-glucose": (
        "bedside glucose", "capillary glucose", "fingerstick glucose", "fingerstick", "point of care glucose",
        "poc glucose", "capillary blood glucose", "bedside blood glucose",
    ),
    "calcium": ("calcium", "serum calcium", "total calcium"),
    "magnesium": ("magnesium", "mg2+"),
    "phosphate": ("phosphate", "phosphorus", "phos"),
    "alt": ("alt", "alanine aminotransferase", "sgpt"),
    "ast": ("ast", "aspartate aminotransferase", "sgot"),
    "alkaline-phosphatase": ("alkaline phosphatase", "alp", "alk phos"),
    "bilirubin": ("bilirubin", "total bilirubin", "bilirubin total"),
    "direct-bilirubin": ("direct bilirubin", "conjugated bilirubin", "bilirubin direct"),
    "albumin": ("albumin", "serum albumin"),
    "protein": ("protein", "total protein", "protein total"),
    "globulin": ("globulin",),
    "hemoglobin": ("hemoglobin", "haemoglobin", "hgb", "hb"),
    "hematocrit": ("hematocrit", "haematocrit", "hct"),
    "leukocytes": ("leukocytes", "leucocytes", "white blood cell", "white blood cell count", "white count",
                   "white cell count", "white cell", "wbc", "wbc count", "leukocyte count"),
    "erythrocytes": ("erythrocytes", "red blood cell", "red blood cell count", "rbc", "rbc count", "red cell count",
                     "red cell"),
    "mcv": ("mcv", "mean corpuscular volume"),
    "mch": ("mch", "mean corpuscular hemoglobin"),
    "mchc": ("mchc", "mean corpuscular hemoglobin concentration"),
    "platelets": ("platelet", "platelet count", "plt"),
    "a1c a1c-ifcc": ("hba1c", "a1c", "hemoglobin a1c", "haemoglobin a1c", "glycated hemoglobin", "glycated haemoglobin",
            "glycosylated hemoglobin", "hb a1c", "hgba1c"),
    "cholesterol": ("cholesterol", "total cholesterol", "cholesterol total"),
    "hdl": ("hdl", "hdl cholesterol", "hdl c", "cholesterol in hdl", "high density lipoprotein",
            "high density lipoprotein cholesterol"),
    "ldl": ("ldl", "ldl cholesterol", "ldl c", "cholesterol in ldl", "low density lipoprotein",
            "low density lipoprotein cholesterol"),
    "triglycerides": ("triglycerides", "triglyceride"),
    "tsh": ("tsh", "thyrotropin", "thyroid stimulating hormone"),
    "free-t4": ("free t4", "free thyroxine", "ft4"),
    "inr": ("inr", "international normalized ratio", "international normalised ratio"),
    "crp": ("crp", "c reactive protein"),
    "lactate": ("lactate", "lactic acid"),
    "troponin-i troponin-t": ("troponin", "hs troponin", "high sensitivity troponin"),
    "troponin-i": ("troponin i",),
    "troponin-t": ("troponin t",),
    "nt-probnp": ("nt probnp", "ntprobnp", "probnp", "nt pro bnp"),
    "bnp": ("bnp", "brain natriuretic peptide"),
    "ferritin": ("ferritin",),
    "iron": ("iron", "serum iron"),
    "urate": ("urate", "uric acid"),
    "urine-albumin": ("urine albumin creatinine", "albumin creatinine ratio", "microalbumin creatinine ratio",
                      "urine albumin creatinine ratio", "uacr", "acr"),
    "egfr": ("egfr", "gfr", "glomerular filtration rate", "estimated glomerular filtration rate", "estimated gfr"),
    "d-dimer": ("d dimer",),
    "esr": ("esr", "sedimentation rate", "erythrocyte sedimentation rate"),
    "blood-ph": ("ph", "arterial ph", "blood ph"),
    "systolic": ("systolic", "systolic blood pressure", "systolic bp", "systolic pressure", "sbp"),
    "diastolic": ("diastolic", "diastolic blood pressure", "diastolic bp", "diastolic pressure", "dbp"),
    "systolic diastolic": ("blood pressure", "bp"),
    "arterial-pressure": ("mean arterial pressure", "mean blood pressure"),
    "heart-rate": ("heart rate", "pulse", "pulse rate", "hr"),
    "respiratory-rate": ("respiratory rate", "respiration rate", "breathing rate", "rr", "respiration"),
    "temperature": ("temperature", "body temperature", "temp", "oral temperature"),
    "saturation": ("oxygen saturation", "o2 saturation", "o2 sat", "spo2", "sao2", "saturation", "pulse oximetry",
                   "pulse ox", "oxygen sat"),
    "inhaled-oxygen": ("fio2", "inhaled oxygen", "inspired oxygen", "inhaled oxygen concentration"),
    "weight": ("weight", "body weight", "wt", "weighed", "weigh"),
    "height": ("height", "body height", "ht", "stature"),
    "bmi": ("bmi", "body mass index"),
    "pain": ("pain", "pain score", "pain severity", "pain level"),
    "coma-scale": ("gcs", "glasgow coma scale", "glasgow coma score"),
    "ejection-fraction": ("ejection fraction", "lvef", "left ventricular ejection fraction"),
}  # fmt: skip


DOSE = "dose"
"""What a dose is one of: no measure, but of whichever drug is spoken of."""

_DRUGS = (
    "potassium chloride", "sodium chloride", "magnesium sulfate", "magnesium oxide", "calcium gluconate",
    "calcium carbonate", "calcium chloride", "sodium bicarbonate", "potassium phosphate", "sodium phosphate",
    "ferrous sulfate", "iron sucrose",
)  # fmt: skip
"""Drugs with a measure in their names, which is not what is meant."""


@lru_cache(maxsize=1)
def phrases() -> Mapping[Phrase, frozenset[str]]:
    """Every phrase of the table, as words, with the keys of the measures that it may mean."""
    found: dict[Phrase, frozenset[str]] = {phrase(name): frozenset() for name in _DRUGS}
    found |= {(DOSE,): frozenset({DOSE}), ("dosage",): frozenset({DOSE})}
    for keys, names in _WORDS.items():
        for name in names:
            words = phrase(name)
            found[words] = found.get(words, frozenset()) | frozenset(keys.split())
    return found


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary[frozenset[str]]:
    """The phrases of the table."""
    return Vocabulary(phrases())


@lru_cache(maxsize=1)
def words_of_phrases() -> frozenset[str]:
    """Every word that stands in a phrase of the table."""
    return frozenset(word for words in phrases() for word in words)


@lru_cache(maxsize=1)
def _by_code() -> Mapping[str, Measure]:
    return {code: measure for measure in MEASURES.values() for code in measure.codes}


def measure_of(code: str) -> Measure | None:
    """The measure that a LOINC code belongs to, if it is in the table."""
    return _by_code().get(code)


def digest_of_concepts() -> str:
    """The digest of the table."""
    measures = {key: [sorted(one.codes), one.unit, one.analyte, one.converts] for key, one in MEASURES.items()}
    return digest({"measures": measures, "words": {key: list(names) for key, names in _WORDS.items()}, "drugs": _DRUGS})
