"""The code tables of the synthetic record: laboratory tests, vital signs, drugs, problems, allergens, procedures.

Every code is a real one. This module contains content from LOINC (http://loinc.org), copyright Regenstrief Institute,
Inc. and the LOINC Committee, available at no cost under the license at http://loinc.org/license; RxNorm is published by
the U.S. National Library of Medicine, CVX by the U.S. Centers for Disease Control and Prevention. SNOMED CT identifiers
are used as codes in example data. Reference ranges are the usual adult ones of a general hospital laboratory; they are
there to make the record plausible and are no source for a clinical decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

LOINC: Final = "http://loinc.org"
SNOMED: Final = "http://snomed.info/sct"
RXNORM: Final = "http://www.nlm.nih.gov/research/umls/rxnorm"
NDC: Final = "http://hl7.org/fhir/sid/ndc"
CVX: Final = "http://hl7.org/fhir/sid/cvx"
ICD10CM: Final = "http://hl7.org/fhir/sid/icd-10-cm"
UCUM: Final = "http://unitsofmeasure.org"
MRN: Final = "http://hospital.example/mrn"
STAFF: Final = "http://hospital.example/staff"
MEMBER: Final = "http://insurer.example/member"
V2_0203: Final = "http://terminology.hl7.org/CodeSystem/v2-0203"
TERMINOLOGY: Final = "http://terminology.hl7.org/CodeSystem/"


@dataclass(frozen=True, slots=True)
class Lab:
    """A laboratory test: its LOINC code, unit, adult reference range, and how its values spread.

    `mean` is a healthy adult's; `between` and `within` are standard deviations between people and from one sample to
    the next. `female` holds range and mean where women's differ. `molar` is the same test in SI units: LOINC code,
    display, unit, and the factor that takes this unit to that one.
    """

    key: str
    code: str
    display: str
    name: str
    unit: str
    low: float | None
    high: float | None
    mean: float
    between: float
    within: float
    places: int
    floor: float
    ceiling: float
    female: tuple[float, float, float] | None = None
    molar: tuple[str, str, str, float, int] | None = None
    shown: str | None = None


_LABS = (
    Lab("sodium", "2951-2", "Sodium [Moles/volume] in Serum or Plasma", "Sodium", "mmol/L",
        136, 145, 140, 1.4, 1.7, 0, 112, 162),
    Lab("potassium", "2823-3", "Potassium [Moles/volume] in Serum or Plasma", "Potassium", "mmol/L",
        3.5, 5.1, 4.2, 0.2, 0.27, 1, 2.2, 7.2),
    Lab("chloride", "2075-0", "Chloride [Moles/volume] in Serum or Plasma", "Chloride", "mmol/L",
        98, 107, 103, 1.6, 1.8, 0, 80, 125),
    Lab("bicarbonate", "2028-9", "Carbon dioxide, total [Moles/volume] in Serum or Plasma", "Bicarbonate", "mmol/L",
        22, 29, 25.5, 1.3, 1.4, 0, 8, 42),
    Lab("urea-nitrogen", "3094-0", "Urea nitrogen [Mass/volume] in Serum or Plasma", "Urea nitrogen", "mg/dL",
        7, 20, 14, 2.6, 2.2, 0, 3, 140),
    Lab("creatinine", "2160-0", "Creatinine [Mass/volume] in Serum or Plasma", "Creatinine", "mg/dL",
        0.7, 1.3, 0.95, 0.11, 0.06, 2, 0.3, 11, female=(0.6, 1.1, 0.78),
        molar=("14682-9", "Creatinine [Moles/volume] in Serum or Plasma", "umol/L", 88.4, 0)),
    Lab("glucose", "2345-7", "Glucose [Mass/volume] in Serum or Plasma", "Glucose", "mg/dL",
        70, 99, 93, 5.5, 7.5, 0, 41, 520,
        molar=("14749-6", "Glucose [Moles/volume] in Serum or Plasma", "mmol/L", 1 / 18.016, 1)),
    Lab("calcium", "17861-6", "Calcium [Mass/volume] in Serum or Plasma", "Calcium", "mg/dL",
        8.6, 10.2, 9.4, 0.25, 0.25, 1, 6.2, 13,
        molar=("2000-8", "Calcium [Moles/volume] in Serum or Plasma", "mmol/L", 1 / 4.0078, 2)),
    Lab("magnesium", "19123-9", "Magnesium [Mass/volume] in Serum or Plasma", "Magnesium", "mg/dL",
        1.7, 2.2, 1.98, 0.12, 0.14, 1, 0.8, 3.6,
        molar=("2601-3", "Magnesium [Moles/volume] in Serum or Plasma", "mmol/L", 1 / 2.4305, 2)),
    Lab("phosphorus", "2777-1", "Phosphate [Mass/volume] in Serum or Plasma", "Phosphate", "mg/dL",
        2.5, 4.5, 3.5, 0.35, 0.4, 1, 1.0, 9.0),
    Lab("alt", "1742-6", "Alanine aminotransferase [Enzymatic activity/volume] in Serum or Plasma", "ALT", "U/L",
        7, 56, 23, 7, 4.5, 0, 4, 2400),
    Lab("ast", "1920-8", "Aspartate aminotransferase [Enzymatic activity/volume] in Serum or Plasma", "AST", "U/L",
        10, 40, 22, 5, 4, 0, 6, 2400),
    Lab("alkaline-phosphatase", "6768-6", "Alkaline phosphatase [Enzymatic activity/volume] in Serum or Plasma",
        "Alkaline phosphatase", "U/L", 44, 147, 78, 17, 7, 0, 22, 900),
    Lab("bilirubin", "1975-2", "Bilirubin.total [Mass/volume] in Serum or Plasma", "Bilirubin, total", "mg/dL",
        0.1, 1.2, 0.6, 0.17, 0.12, 1, 0.1, 18),
    Lab("albumin", "1751-7", "Albumin [Mass/volume] in Serum or Plasma", "Albumin", "g/dL",
        3.5, 5.0, 4.3, 0.22, 0.15, 1, 1.4, 5.4),
    Lab("protein", "2885-2", "Protein [Mass/volume] in Serum or Plasma", "Protein, total", "g/dL",
        6.0, 8.3, 7.1, 0.3, 0.2, 1, 4.0, 9.6),
    Lab("hemoglobin", "718-7", "Hemoglobin [Mass/volume] in Blood", "Hemoglobin", "g/dL",
        13.5, 17.5, 15.0, 0.8, 0.4, 1, 5.2, 19.5, female=(12.0, 15.5, 13.5)),
    Lab("hematocrit", "4544-3", "Hematocrit [Volume Fraction] of Blood by Automated count", "Hematocrit", "%",
        38.8, 50.0, 44.5, 2.2, 1.1, 1, 15, 60, female=(34.9, 44.5, 40.2)),
    Lab("leukocytes", "6690-2", "Leukocytes [#/volume] in Blood by Automated count", "WBC", "10*3/uL",
        4.0, 11.0, 6.9, 1.3, 1.0, 1, 0.8, 45),
    Lab("erythrocytes", "789-8", "Erythrocytes [#/volume] in Blood by Automated count", "RBC", "10*6/uL",
        4.35, 5.65, 5.0, 0.25, 0.12, 2, 1.8, 7, female=(3.92, 5.13, 4.5)),
    Lab("mcv", "787-2", "MCV [Entitic volume] by Automated count", "MCV", "fL",
        80, 100, 90, 3.4, 1.0, 0, 60, 120),
    Lab("platelets", "777-3", "Platelets [#/volume] in Blood by Automated count", "Platelets", "10*3/uL",
        150, 400, 248, 45, 20, 0, 12, 950),
    Lab("a1c", "4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "Hemoglobin A1c", "%",
        4.0, 5.6, 5.3, 0.18, 0.1, 1, 4.1, 14.5),
    Lab("cholesterol", "2093-3", "Cholesterol [Mass/volume] in Serum or Plasma", "Cholesterol", "mg/dL",
        125, 200, 182, 24, 9, 0, 85, 380),
    Lab("hdl", "2085-9", "Cholesterol in HDL [Mass/volume] in Serum or Plasma", "HDL cholesterol", "mg/dL",
        40, None, 50, 9, 3, 0, 18, 105, female=(50, 999, 59)),
    Lab("ldl", "13457-7", "Cholesterol in LDL [Mass/volume] in Serum or Plasma by calculation", "LDL cholesterol",
        "mg/dL", None, 100, 106, 20, 8, 0, 28, 280),
    Lab("triglycerides", "2571-8", "Triglyceride [Mass/volume] in Serum or Plasma", "Triglycerides", "mg/dL",
        None, 150, 118, 32, 17, 0, 38, 900),
    Lab("tsh", "3016-3", "Thyrotropin [Units/volume] in Serum or Plasma", "TSH", "m[IU]/L",
        0.4, 4.5, 1.9, 0.5, 0.3, 2, 0.01, 60, shown="mIU/L"),
    Lab("inr", "6301-6", "INR in Platelet poor plasma by Coagulation assay", "INR", "{INR}",
        0.8, 1.2, 1.0, 0.04, 0.05, 1, 0.8, 8.5, shown="INR"),
    Lab("crp", "1988-5", "C reactive protein [Mass/volume] in Serum or Plasma", "C-reactive protein", "mg/L",
        None, 5.0, 2.1, 0.9, 0.9, 1, 0.2, 380),
    Lab("lactate", "2524-7", "Lactate [Moles/volume] in Serum or Plasma", "Lactate", "mmol/L",
        0.5, 2.2, 1.2, 0.2, 0.25, 1, 0.4, 14),
    Lab("troponin", "89579-7", "Troponin I.cardiac [Mass/volume] in Serum or Plasma by High sensitivity method",
        "Troponin I, high sensitivity", "ng/L", None, 20, 6, 2, 1.5, 0, 2, 24000),
    Lab("nt-probnp", "33762-6", "Natriuretic peptide.B prohormone N-Terminal [Mass/volume] in Serum or Plasma",
        "NT-proBNP", "pg/mL", None, 125, 62, 20, 12, 0, 8, 32000),
    Lab("ferritin", "2276-4", "Ferritin [Mass/volume] in Serum or Plasma", "Ferritin", "ng/mL",
        24, 336, 110, 35, 12, 0, 3, 2400, female=(11, 307, 70)),
    Lab("urate", "3084-1", "Urate [Mass/volume] in Serum or Plasma", "Uric acid", "mg/dL",
        3.5, 7.2, 5.4, 0.7, 0.35, 1, 1.8, 14, female=(2.6, 6.0, 4.5)),
    Lab("urine-albumin", "9318-7", "Albumin/Creatinine [Mass Ratio] in Urine", "Urine albumin/creatinine", "mg/g",
        None, 30, 9, 4, 3, 0, 2, 3200),
    Lab("egfr", "98979-8",
        "Glomerular filtration rate [Volume Rate/Area] in Serum, Plasma or Blood by Creatinine-based formula"
        " (CKD-EPI 2021)/1.73 sq M", "eGFR", "mL/min/{1.73_m2}", 60, None, 95, 0, 0, 0, 4, 140,
        shown="mL/min/1.73m2"),
    Lab("bedside-glucose", "41653-7", "Glucose [Mass/volume] in Capillary blood by Glucometer", "Bedside glucose",
        "mg/dL", 70, 140, 118, 8, 13, 0, 38, 540),
)  # fmt: skip

LABS: Final = {lab.key: lab for lab in _LABS}


@dataclass(frozen=True, slots=True)
class Panel:
    """Tests that are ordered and reported together."""

    key: str
    code: str
    display: str
    name: str
    labs: tuple[str, ...]


_BASIC = ("sodium", "potassium", "chloride", "bicarbonate", "urea-nitrogen", "creatinine", "glucose", "calcium")

PANELS: Final = {
    panel.key: panel
    for panel in (
        Panel("basic", "24321-2", "Basic metabolic 2000 panel - Serum or Plasma", "Basic metabolic panel",
              (*_BASIC, "egfr")),
        Panel("comprehensive", "24323-8", "Comprehensive metabolic 2000 panel - Serum or Plasma",
              "Comprehensive metabolic panel",
              (*_BASIC, "egfr", "alt", "ast", "alkaline-phosphatase", "bilirubin", "albumin", "protein")),
        Panel("blood-count", "58410-2", "CBC panel - Blood by Automated count", "Complete blood count",
              ("leukocytes", "erythrocytes", "hemoglobin", "hematocrit", "mcv", "platelets")),
        Panel("lipids", "24331-1", "Lipid 1996 panel - Serum or Plasma", "Lipid panel",
              ("cholesterol", "triglycerides", "hdl", "ldl")),
        Panel("a1c", "4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "Hemoglobin A1c", ("a1c",)),
        Panel("thyroid", "3016-3", "Thyrotropin [Units/volume] in Serum or Plasma", "TSH", ("tsh",)),
        Panel("inr", "6301-6", "INR in Platelet poor plasma by Coagulation assay", "INR", ("inr",)),
        Panel("magnesium", "19123-9", "Magnesium [Mass/volume] in Serum or Plasma", "Magnesium", ("magnesium",)),
        Panel("phosphorus", "2777-1", "Phosphate [Mass/volume] in Serum or Plasma", "Phosphate", ("phosphorus",)),
        Panel("potassium", "2823-3", "Potassium [Moles/volume] in Serum or Plasma", "Potassium", ("potassium",)),
        Panel("crp", "1988-5", "C reactive protein [Mass/volume] in Serum or Plasma", "C-reactive protein", ("crp",)),
        Panel("lactate", "2524-7", "Lactate [Moles/volume] in Serum or Plasma", "Lactate", ("lactate",)),
        Panel("troponin", "89579-7",
              "Troponin I.cardiac [Mass/volume] in Serum or Plasma by High sensitivity method", "Troponin",
              ("troponin",)),
        Panel("nt-probnp", "33762-6",
              "Natriuretic peptide.B prohormone N-Terminal [Mass/volume] in Serum or Plasma", "NT-proBNP",
              ("nt-probnp",)),
        Panel("ferritin", "2276-4", "Ferritin [Mass/volume] in Serum or Plasma", "Ferritin", ("ferritin",)),
        Panel("urate", "3084-1", "Urate [Mass/volume] in Serum or Plasma", "Uric acid", ("urate",)),
        Panel("urine-albumin", "9318-7", "Albumin/Creatinine [Mass Ratio] in Urine", "Urine albumin/creatinine",
              ("urine-albumin",)),
        Panel("bedside-glucose", "41653-7", "Glucose [Mass/volume] in Capillary blood by Glucometer",
              "Bedside glucose", ("bedside-glucose",)),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Vital:
    """A vital sign: LOINC code, unit, adult mean and spread."""

    key: str
    code: str
    display: str
    name: str
    unit: str
    shown: str
    mean: float
    between: float
    within: float
    places: int
    floor: float
    ceiling: float


_VITALS = (
    Vital("systolic", "8480-6", "Systolic blood pressure", "Systolic blood pressure", "mm[Hg]", "mmHg",
          121, 7, 6.5, 0, 66, 236),
    Vital("diastolic", "8462-4", "Diastolic blood pressure", "Diastolic blood pressure", "mm[Hg]", "mmHg",
          75, 5, 4.5, 0, 34, 138),
    Vital("heart-rate", "8867-4", "Heart rate", "Heart rate", "/min", "beats/minute", 74, 6, 6, 0, 34, 184),
    Vital("respiratory-rate", "9279-1", "Respiratory rate", "Respiratory rate", "/min", "breaths/minute",
          15.5, 1, 1.4, 0, 8, 46),
    Vital("temperature", "8310-5", "Body temperature", "Temperature", "Cel", "°C", 36.7, 0.12, 0.22, 1, 34.4, 41.2),
    Vital("oxygen-saturation", "59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry",
          "Oxygen saturation", "%", "%", 97.4, 0.6, 0.9, 0, 71, 100),
    Vital("inhaled-oxygen", "3150-6", "Inhaled oxygen concentration", "Inhaled oxygen", "%", "%",
          30, 4, 4, 0, 21, 100),
    Vital("weight", "29463-7", "Body weight", "Weight", "kg", "kg", 78, 12, 0.7, 1, 2.4, 210),
    Vital("height", "8302-2", "Body height", "Height", "cm", "cm", 170, 7, 0.3, 0, 45, 206),
    Vital("bmi", "39156-5", "Body mass index (BMI) [Ratio]", "BMI", "kg/m2", "kg/m2", 26, 0, 0, 1, 10, 70),
)  # fmt: skip

VITALS: Final = {vital.key: vital for vital in _VITALS}
BLOOD_PRESSURE: Final = ("85354-9", "Blood pressure panel with all children optional", "Blood pressure")
SMOKING: Final = ("72166-2", "Tobacco smoking status", "Smoking status")
SMOKING_STATUS: Final = (
    ("266919005", "Never smoked tobacco"),
    ("8517006", "Ex-smoker"),
    ("449868002", "Smokes tobacco daily"),
)


@dataclass(frozen=True, slots=True)
class Drug:
    """A drug as ordered: its code, and `dose` in UCUM `unit` (`shown` to people), `times` every `per` `per_unit`."""

    key: str
    code: str
    display: str
    name: str
    dose: float
    unit: str = "mg"
    shown: str = "mg"
    times: int = 1
    per: int = 1
    per_unit: str = "d"
    route: str = "oral"
    as_needed: bool = False
    system: str = RXNORM


_DRUGS = (
    Drug("lisinopril-10", "314076", "lisinopril 10 MG Oral Tablet", "Lisinopril 10 mg", 10),
    Drug("lisinopril-20", "314077", "lisinopril 20 MG Oral Tablet", "Lisinopril 20 mg", 20),
    Drug("losartan-50", "979492", "losartan potassium 50 MG Oral Tablet", "Losartan 50 mg", 50),
    Drug("amlodipine-5", "197361", "amlodipine 5 MG Oral Tablet", "Amlodipine 5 mg", 5),
    Drug("hydrochlorothiazide-25", "310798", "hydrochlorothiazide 25 MG Oral Tablet", "Hydrochlorothiazide 25 mg",
         25),
    Drug("metoprolol-50", "866436", "24 HR metoprolol succinate 50 MG Extended Release Oral Tablet",
         "Metoprolol succinate 50 mg", 50),
    Drug("metoprolol-100", "866412", "24 HR metoprolol succinate 100 MG Extended Release Oral Tablet",
         "Metoprolol succinate 100 mg", 100),
    Drug("carvedilol-6", "200031", "carvedilol 6.25 MG Oral Tablet", "Carvedilol 6.25 mg", 6.25, times=2),
    Drug("carvedilol-25", "200033", "carvedilol 25 MG Oral Tablet", "Carvedilol 25 mg", 25, times=2),
    Drug("furosemide-40", "313988", "furosemide 40 MG Oral Tablet", "Furosemide 40 mg", 40),
    Drug("spironolactone-25", "313096", "spironolactone 25 MG Oral Tablet", "Spironolactone 25 mg", 25),
    Drug("digoxin", "197604", "digoxin 0.125 MG Oral Tablet", "Digoxin 0.125 mg", 0.125),
    Drug("atorvastatin-10", "617312", "atorvastatin 10 MG Oral Tablet", "Atorvastatin 10 mg", 10),
    Drug("atorvastatin-40", "617311", "atorvastatin 40 MG Oral Tablet", "Atorvastatin 40 mg", 40),
    Drug("simvastatin-20", "312961", "simvastatin 20 MG Oral Tablet", "Simvastatin 20 mg", 20),
    Drug("metformin-500", "860975", "24 HR metformin hydrochloride 500 MG Extended Release Oral Tablet",
         "Metformin XR 500 mg", 500),
    Drug("metformin-1000", "861004", "metformin hydrochloride 1000 MG Oral Tablet", "Metformin 1000 mg", 1000,
         times=2),
    Drug("glargine", "311041", "insulin glargine 100 UNT/ML Injectable Solution", "Insulin glargine", 18, unit="[IU]",
         shown="units", route="subcutaneous"),
    Drug("levothyroxine-75", "966222", "levothyroxine sodium 0.075 MG Oral Tablet", "Levothyroxine 75 mcg", 75,
         unit="ug", shown="mcg"),
    Drug("warfarin", "855332", "warfarin sodium 5 MG Oral Tablet", "Warfarin 5 mg", 5),
    Drug("apixaban", "1364445", "apixaban 5 MG Oral Tablet", "Apixaban 5 mg", 5, times=2),
    Drug("aspirin-81", "243670", "aspirin 81 MG Oral Tablet", "Aspirin 81 mg", 81),
    Drug("clopidogrel", "309362", "clopidogrel 75 MG Oral Tablet", "Clopidogrel 75 mg", 75),
    Drug("albuterol", "745679", "200 ACTUAT albuterol 0.09 MG/ACTUAT Metered Dose Inhaler", "Albuterol inhaler", 2,
         unit="{puff}", shown="puffs", per=6, per_unit="h", route="inhalation", as_needed=True),
    Drug("salmeterol-fluticasone", "896209",
         "60 ACTUAT fluticasone propionate 0.25 MG/ACTUAT / salmeterol 0.05 MG/ACTUAT Dry Powder Inhaler",
         "Fluticasone/salmeterol 250/50", 1, unit="{puff}", shown="puff", times=2, route="inhalation"),
    Drug("sertraline-50", "312941", "sertraline 50 MG Oral Tablet", "Sertraline 50 mg", 50),
    Drug("sertraline-100", "312938", "sertraline 100 MG Oral Tablet", "Sertraline 100 mg", 100),
    Drug("fluoxetine-20", "310385", "fluoxetine 20 MG Oral Capsule", "Fluoxetine 20 mg", 20),
    Drug("omeprazole-20", "198051", "omeprazole 20 MG Delayed Release Oral Capsule", "Omeprazole 20 mg", 20),
    Drug("gabapentin-300", "310431", "gabapentin 300 MG Oral Capsule", "Gabapentin 300 mg", 300, times=3),
    Drug("allopurinol-100", "197319", "allopurinol 100 MG Oral Tablet", "Allopurinol 100 mg", 100),
    Drug("colchicine", "197541", "colchicine 0.6 MG Oral Tablet", "Colchicine 0.6 mg", 0.6, times=2),
    Drug("alendronate-10", "904419", "alendronic acid 10 MG Oral Tablet", "Alendronate 10 mg", 10),
    Drug("tamsulosin", "863669", "tamsulosin hydrochloride 0.4 MG Oral Capsule", "Tamsulosin 0.4 mg", 0.4),
    Drug("ferrous-sulfate", "310325", "ferrous sulfate 325 MG Oral Tablet", "Ferrous sulfate 325 mg", 325),
    Drug("methotrexate", "105585", "methotrexate 2.5 MG Oral Tablet", "Methotrexate 2.5 mg", 15, per_unit="wk"),
    Drug("donepezil-10", "997223", "donepezil hydrochloride 10 MG Oral Tablet", "Donepezil 10 mg", 10),
    Drug("loratadine-10", "311372", "loratadine 10 MG Oral Tablet", "Loratadine 10 mg", 10),
    Drug("cetirizine-10", "1014678", "cetirizine hydrochloride 10 MG Oral Tablet", "Cetirizine 10 mg", 10),
    Drug("acetaminophen-325", "313782", "acetaminophen 325 MG Oral Tablet", "Acetaminophen 325 mg", 650, per=6,
         per_unit="h", as_needed=True),
    Drug("ibuprofen-200", "310965", "ibuprofen 200 MG Oral Tablet", "Ibuprofen 200 mg", 400, per=8, per_unit="h",
         as_needed=True),
    Drug("naproxen-500", "198014", "naproxen 500 MG Oral Tablet", "Naproxen 500 mg", 500, times=2),
    Drug("tramadol-50", "835603", "tramadol hydrochloride 50 MG Oral Tablet", "Tramadol 50 mg", 50, per=6,
         per_unit="h", as_needed=True),
    Drug("amoxicillin-500", "308192", "amoxicillin 500 MG Oral Tablet", "Amoxicillin 500 mg", 500, times=3),
    Drug("amoxicillin-clavulanate", "562508", "amoxicillin 875 MG / clavulanate 125 MG Oral Tablet",
         "Amoxicillin/clavulanate 875/125 mg", 875, times=2),
    Drug("penicillin-v", "834102", "penicillin V potassium 500 MG Oral Tablet", "Penicillin V 500 mg", 500, times=2),
    Drug("ciprofloxacin-500", "309309", "ciprofloxacin 500 MG Oral Tablet", "Ciprofloxacin 500 mg", 500, times=2),
    Drug("cephalexin-500", "197454", "cephalexin 500 MG Oral Tablet", "Cephalexin 500 mg", 500, times=4),
    Drug("nitrofurantoin", "1648755",
         "nitrofurantoin, macrocrystals 25 MG / nitrofurantoin, monohydrate 75 MG Oral Capsule",
         "Nitrofurantoin 100 mg", 100, times=2),
    Drug("cotrimoxazole", "198335", "sulfamethoxazole 800 MG / trimethoprim 160 MG Oral Tablet",
         "Sulfamethoxazole/trimethoprim DS", 800, times=2),
    Drug("prednisone-20", "312615", "prednisone 20 MG Oral Tablet", "Prednisone 20 mg", 40),
    Drug("enoxaparin", "854235", "0.4 ML enoxaparin sodium 100 MG/ML Prefilled Syringe", "Enoxaparin 40 mg", 40,
         route="subcutaneous"),
    Drug("albuterol-nebulizer", "630208", "albuterol 0.83 MG/ML Inhalation Solution", "Albuterol nebulizer 2.5 mg",
         2.5, per=4, per_unit="h", route="inhalation"),
    Drug("potassium-chloride", "40032-917-01", "potassium chloride 20 MEQ Extended Release Oral Tablet",
         "Potassium chloride 20 mEq", 20, unit="meq", shown="mEq", times=2, system=NDC),
    Drug("magnesium-sulfate", "0338-1715-40", "magnesium sulfate in water for injection", "Magnesium sulfate IV", 2,
         unit="g", shown="g", route="intravenous", system=NDC),
)  # fmt: skip

DRUGS: Final = {drug.key: drug for drug in _DRUGS}
ROUTES: Final = {
    "oral": ("26643006", "Oral route"),
    "intravenous": ("47625008", "Intravenous route"),
    "subcutaneous": ("34206005", "Subcutaneous route"),
    "inhalation": ("447694001", "Respiratory tract route"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A lasting problem: codes, how common it is by age (18-39, 40-64, 65 and over), drugs, and what it does.

    Each entry of `drugs` is a ladder of drugs of which one is current; `shifts` move laboratory and vital means;
    `panels` are checked every so many days.
    """

    code: str
    display: str
    icd: str
    common: tuple[float, float, float]
    drugs: tuple[tuple[str, ...], ...] = ()
    shifts: dict[str, float] = field(default_factory=dict)
    panels: dict[str, int] = field(default_factory=dict)
    sex: str | None = None


PROBLEMS: Final = (
    Problem("59621000", "Essential hypertension", "I10", (0.07, 0.36, 0.66),
            drugs=(("lisinopril-10", "lisinopril-20"), ("hydrochlorothiazide-25", "amlodipine-5")),
            shifts={"systolic": 17, "diastolic": 8}, panels={"basic": 240, "a1c": 900}),
    Problem("44054006", "Diabetes mellitus type 2", "E11.9", (0.04, 0.17, 0.27),
            drugs=(("metformin-500", "metformin-1000"), ("glargine",)),
            shifts={"a1c": 2.1, "glucose": 58, "bedside-glucose": 62, "triglycerides": 35, "weight": 8},
            panels={"a1c": 150, "basic": 210, "urine-albumin": 365}),
    Problem("714628002", "Prediabetes", "R73.03", (0.05, 0.15, 0.14), shifts={"a1c": 0.6, "glucose": 13, "weight": 5},
            panels={"a1c": 365}),
    Problem("55822004", "Hyperlipidemia", "E78.5", (0.08, 0.33, 0.5), drugs=(("atorvastatin-10", "atorvastatin-40"),),
            shifts={"cholesterol": 28, "ldl": 24, "triglycerides": 30}, panels={"lipids": 330, "comprehensive": 420}),
    Problem("433144002", "Chronic kidney disease stage 3", "N18.30", (0.01, 0.06, 0.2), shifts={"creatinine": 0.72,
            "urea-nitrogen": 13, "potassium": 0.28, "bicarbonate": -1.6, "hemoglobin": -1.1, "hematocrit": -3.2,
            "erythrocytes": -0.35, "urine-albumin": 120, "phosphorus": 0.3},
            panels={"basic": 110, "blood-count": 240}),
    Problem("49436004", "Atrial fibrillation", "I48.91", (0.0, 0.03, 0.15),
            drugs=(("warfarin", "apixaban"), ("metoprolol-50",)), shifts={"heart-rate": 6, "inr": 1.3},
            panels={"inr": 45}),
    Problem("84114007", "Heart failure", "I50.9", (0.0, 0.04, 0.13),
            drugs=(("furosemide-40",), ("carvedilol-6", "carvedilol-25"), ("spironolactone-25",)),
            shifts={"nt-probnp": 900, "potassium": -0.1, "sodium": -2, "urea-nitrogen": 6, "magnesium": -0.12},
            panels={"basic": 90, "nt-probnp": 240, "magnesium": 180}),
    Problem("53741008", "Coronary arteriosclerosis", "I25.10", (0.0, 0.08, 0.22),
            drugs=(("aspirin-81",), ("clopidogrel",)), shifts={"ldl": -12}, panels={"lipids": 300}),
    Problem("13645005", "Chronic obstructive pulmonary disease", "J44.9", (0.0, 0.07, 0.15),
            drugs=(("albuterol",), ("salmeterol-fluticasone",)),
            shifts={"oxygen-saturation": -3.2, "respiratory-rate": 2, "bicarbonate": 1.8, "hematocrit": 1.6},
            panels={"blood-count": 365}),
    Problem("195967001", "Asthma", "J45.909", (0.11, 0.08, 0.07), drugs=(("albuterol",),)),
    Problem("40930008", "Hypothyroidism", "E03.9", (0.03, 0.08, 0.13), drugs=(("levothyroxine-75",),),
            shifts={"tsh": 1.5}, panels={"thyroid": 240}),
    Problem("370143000", "Major depressive disorder", "F32.9", (0.11, 0.12, 0.09),
            drugs=(("sertraline-50", "sertraline-100"),)),
    Problem("197480006", "Anxiety disorder", "F41.9", (0.12, 0.1, 0.06), drugs=(("fluoxetine-20",),),
            shifts={"heart-rate": 3}),
    Problem("239873007", "Osteoarthritis of knee", "M17.9", (0.01, 0.13, 0.3), drugs=(("naproxen-500",),)),
    Problem("235595009", "Gastroesophageal reflux disease", "K21.9", (0.07, 0.16, 0.2), drugs=(("omeprazole-20",),),
            shifts={"magnesium": -0.06}),
    Problem("87522002", "Iron deficiency anemia", "D50.9", (0.07, 0.04, 0.06), drugs=(("ferrous-sulfate",),),
            shifts={"hemoglobin": -2.2, "hematocrit": -6, "mcv": -9, "ferritin": -58, "erythrocytes": -0.2},
            panels={"blood-count": 150, "ferritin": 240}),
    Problem("90560007", "Gout", "M10.9", (0.01, 0.05, 0.08), drugs=(("allopurinol-100",),), shifts={"urate": 1.9},
            panels={"urate": 270}),
    Problem("64859006", "Osteoporosis", "M81.0", (0.0, 0.03, 0.16), drugs=(("alendronate-10",),), sex="female"),
    Problem("266569009", "Benign prostatic hyperplasia", "N40.0", (0.0, 0.1, 0.36), drugs=(("tamsulosin",),),
            sex="male"),
    Problem("37796009", "Migraine", "G43.909", (0.1, 0.08, 0.03)),
    Problem("78275009", "Obstructive sleep apnea syndrome", "G47.33", (0.02, 0.09, 0.1), shifts={"weight": 14}),
    Problem("278860009", "Chronic low back pain", "M54.50", (0.06, 0.13, 0.16), drugs=(("gabapentin-300",),)),
    Problem("69896004", "Rheumatoid arthritis", "M06.9", (0.01, 0.02, 0.03), drugs=(("methotrexate",),),
            shifts={"crp": 9, "hemoglobin": -0.6}, panels={"blood-count": 120, "comprehensive": 120}),
    Problem("367498001", "Seasonal allergic rhinitis", "J30.2", (0.14, 0.11, 0.07),
            drugs=(("loratadine-10", "cetirizine-10"),)),
    Problem("26929004", "Alzheimer's disease", "G30.9", (0.0, 0.0, 0.07), drugs=(("donepezil-10",),),
            shifts={"weight": -4}),
    Problem("254837009", "Malignant neoplasm of breast", "C50.919", (0.0, 0.02, 0.04),
            shifts={"alkaline-phosphatase": 12}, panels={"comprehensive": 200, "blood-count": 200}, sex="female"),
    Problem("84757009", "Epilepsy", "G40.909", (0.02, 0.02, 0.02), drugs=(("gabapentin-300",),)),
    Problem("414916001", "Obesity", "E66.9", (0.17, 0.24, 0.2),
            shifts={"weight": 24, "systolic": 4, "triglycerides": 22}),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Illness:
    """A passing illness: seen in the clinic, or the reason for an admission of so many `days`."""

    code: str
    display: str
    icd: str
    weight: float
    days: tuple[int, int] = (0, 0)
    drugs: tuple[str, ...] = ()
    shifts: dict[str, float] = field(default_factory=dict)
    procedures: tuple[str, ...] = ()
    ages: tuple[int, int] = (18, 120)


CLINIC_ILLNESSES: Final = (
    Illness("444814009", "Viral sinusitis", "J01.90", 2.0, drugs=("acetaminophen-325",), shifts={"temperature": 0.5},
            ages=(2, 120)),
    Illness("195662009", "Acute viral pharyngitis", "J02.9", 2.0, shifts={"temperature": 0.7}, ages=(2, 120)),
    Illness("10509002", "Acute bronchitis", "J20.9", 1.6, drugs=("albuterol",),
            shifts={"temperature": 0.5, "respiratory-rate": 2}),
    Illness("307426000", "Acute infective cystitis", "N30.00", 1.3, drugs=("nitrofurantoin",),
            shifts={"temperature": 0.4}),
    Illness("128045006", "Cellulitis", "L03.90", 0.8, drugs=("cephalexin-500",),
            shifts={"temperature": 0.5, "leukocytes": 3}),
    Illness("65363002", "Otitis media", "H66.90", 1.4, drugs=("amoxicillin-500",), shifts={"temperature": 1.0},
            ages=(0, 14)),
    Illness("43878008", "Streptococcal sore throat", "J02.0", 0.7, drugs=("penicillin-v",),
            shifts={"temperature": 1.1}, ages=(3, 40)),
    Illness("75498004", "Acute bacterial sinusitis", "J01.90", 0.6, drugs=("amoxicillin-clavulanate",),
            shifts={"temperature": 0.6}),
    Illness("44465007", "Sprain of ankle", "S93.409A", 0.9, drugs=("ibuprofen-200",), procedures=("ankle-x-ray",),
            ages=(8, 80)),
    Illness("24079001", "Atopic dermatitis", "L20.9", 0.7, ages=(0, 60)),
    Illness("57676002", "Joint pain", "M25.50", 0.8, drugs=("naproxen-500",)),
)  # fmt: skip

ADMISSIONS: Final = (
    Illness("233604007", "Pneumonia", "J18.9", 2.2, days=(3, 9), drugs=("amoxicillin-clavulanate", "enoxaparin"),
            shifts={"leukocytes": 7.5, "crp": 130, "temperature": 1.3, "heart-rate": 18, "respiratory-rate": 7,
            "oxygen-saturation": -6, "sodium": -4, "albumin": -0.6, "potassium": -0.25}, procedures=("chest-x-ray",)),
    Illness("88805009", "Chronic congestive heart failure", "I50.22", 1.7, days=(4, 10),
            drugs=("furosemide-40", "enoxaparin"), shifts={"nt-probnp": 5200, "weight": 4.5, "oxygen-saturation": -5,
            "respiratory-rate": 6, "sodium": -4.5, "potassium": -0.65, "magnesium": -0.32, "urea-nitrogen": 12,
            "creatinine": 0.35, "heart-rate": 12}, procedures=("chest-x-ray", "echocardiography", "ecg"),
            ages=(45, 120)),
    Illness("14669001", "Acute kidney injury", "N17.9", 1.4, days=(3, 10),
            shifts={"creatinine": 1.9, "urea-nitrogen": 36, "potassium": 0.85, "bicarbonate": -5, "phosphorus": 1.2,
            "hemoglobin": -0.7},
            procedures=("renal-ultrasound",)),
    Illness("91302008", "Sepsis", "A41.9", 1.0, days=(6, 16), drugs=("ciprofloxacin-500", "enoxaparin"),
            shifts={"leukocytes": 11, "crp": 210, "lactate": 2.6, "temperature": 1.8, "heart-rate": 32,
            "systolic": -24, "diastolic": -13, "respiratory-rate": 9, "platelets": -90, "creatinine": 0.8,
            "albumin": -1.1, "magnesium": -0.35, "potassium": -0.45, "phosphorus": -0.7, "bicarbonate": -4},
            procedures=("chest-x-ray", "ecg")),
    Illness("185086009", "Chronic obstructive bronchitis", "J44.1", 1.2, days=(3, 8),
            drugs=("prednisone-20", "albuterol-nebulizer"), shifts={"oxygen-saturation": -7, "respiratory-rate": 8,
            "heart-rate": 15, "leukocytes": 4, "potassium": -0.4, "glucose": 35, "bedside-glucose": 55,
            "bicarbonate": 2}, procedures=("chest-x-ray",), ages=(45, 120)),
    Illness("359817006", "Closed fracture of hip", "S72.009A", 0.9, days=(5, 12), drugs=("enoxaparin", "tramadol-50"),
            shifts={"hemoglobin": -2.8, "hematocrit": -8, "erythrocytes": -0.9, "crp": 65, "heart-rate": 9,
            "albumin": -0.5}, procedures=("hip-replacement",), ages=(65, 120)),
    Illness("401314000", "Acute non-ST segment elevation myocardial infarction", "I21.4", 0.9, days=(3, 7),
            drugs=("aspirin-81", "clopidogrel", "enoxaparin"),
            shifts={"troponin": 1700, "heart-rate": 10, "glucose": 22, "magnesium": -0.15, "potassium": -0.2},
            procedures=("ecg", "coronary-angiography", "percutaneous-coronary-intervention"), ages=(40, 120)),
    Illness("230690007", "Cerebrovascular accident", "I63.9", 0.7, days=(4, 12),
            drugs=("aspirin-81", "atorvastatin-40"), shifts={"systolic": 28, "diastolic": 12, "glucose": 18},
            procedures=("head-ct", "ecg"), ages=(45, 120)),
    Illness("65275009", "Acute cholecystitis", "K81.0", 0.7, days=(2, 6), drugs=("ciprofloxacin-500",),
            shifts={"leukocytes": 6, "crp": 85, "alt": 95, "ast": 80, "alkaline-phosphatase": 90, "bilirubin": 1.7,
            "temperature": 0.9}, procedures=("abdominal-ultrasound", "cholecystectomy")),
    Illness("128045006", "Cellulitis", "L03.90", 1.0, days=(2, 6), drugs=("cephalexin-500",),
            shifts={"leukocytes": 4.5, "crp": 75, "temperature": 0.8, "heart-rate": 8}),
    Illness("706870000", "Acute pulmonary embolism", "I26.99", 0.5, days=(3, 8), drugs=("apixaban",),
            shifts={"oxygen-saturation": -6, "heart-rate": 24, "respiratory-rate": 7, "troponin": 40,
            "nt-probnp": 700}, procedures=("chest-ct", "ecg")),
    Illness("45816000", "Pyelonephritis", "N12", 1.0, days=(2, 6), drugs=("cotrimoxazole",),
            shifts={"leukocytes": 6, "crp": 110, "temperature": 1.5, "heart-rate": 14, "potassium": -0.3}),
    Illness("239873007", "Osteoarthritis of knee", "M17.9", 0.9, days=(2, 5), drugs=("enoxaparin", "tramadol-50"),
            shifts={"hemoglobin": -2.1, "hematocrit": -6, "erythrocytes": -0.7, "crp": 70, "potassium": -0.2},
            procedures=("knee-replacement",), ages=(50, 90)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Act:
    """A procedure or examination."""

    code: str
    display: str


ACTS: Final = {
    "ankle-x-ray": Act("19490002", "Radiography of ankle"),
    "chest-x-ray": Act("399208008", "Plain X-ray of chest"),
    "echocardiography": Act("40701008", "Echocardiography"),
    "ecg": Act("29303009", "Electrocardiographic procedure"),
    "renal-ultrasound": Act("306005", "Echography of kidney"),
    "abdominal-ultrasound": Act("45036003", "Ultrasonography of abdomen"),
    "hip-replacement": Act("52734007", "Total replacement of hip"),
    "knee-replacement": Act("609588000", "Total knee replacement"),
    "coronary-angiography": Act("33367005", "Angiography of coronary artery"),
    "percutaneous-coronary-intervention": Act("415070008", "Percutaneous coronary intervention"),
    "head-ct": Act("303653007", "Computed tomography of head"),
    "chest-ct": Act("169069000", "Computed tomography of chest"),
    "cholecystectomy": Act("45595009", "Laparoscopic cholecystectomy"),
    "colonoscopy": Act("73761001", "Colonoscopy"),
    "mammography": Act("71651007", "Mammography"),
    "bone-density": Act("312681000", "Bone density scan"),
    "spirometry": Act("127783003", "Spirometry"),
    "retinal-exam": Act("722161008", "Diabetic retinal eye exam"),
    "medication-reconciliation": Act("430193006", "Medication reconciliation"),
    "depression-screening": Act("171207006", "Depression screening"),
    "transfusion": Act("71493000", "Transfusion of packed red blood cells"),
    "wound-suture": Act("288086009", "Suture open wound"),
}

REFERRALS: Final = {
    "cardiology": Act("183519002", "Referral to cardiology service"),
    "orthopedics": Act("183545006", "Referral to orthopedic service"),
    "dietitian": Act("103699006", "Patient referral to dietitian"),
    "diabetes-nurse": Act("312856000", "Referral to diabetes nurse"),
    "physical-therapy": Act("91251008", "Physical therapy procedure"),
    "dental": Act("103697008", "Patient referral for dental care"),
}


@dataclass(frozen=True, slots=True)
class Allergen:
    """A substance people are allergic to. Drugs carry an RxNorm ingredient, other substances a SNOMED CT code."""

    system: str
    code: str
    display: str
    category: str
    weight: float


ALLERGENS: Final = (
    Allergen(RXNORM, "7984", "Penicillin V", "medication", 3.0),
    Allergen(RXNORM, "723", "Amoxicillin", "medication", 1.6),
    Allergen(RXNORM, "10831", "Sulfamethoxazole / Trimethoprim", "medication", 1.6),
    Allergen(RXNORM, "1191", "Aspirin", "medication", 1.2),
    Allergen(RXNORM, "5640", "Ibuprofen", "medication", 1.0),
    Allergen(RXNORM, "2670", "Codeine", "medication", 0.9),
    Allergen(RXNORM, "29046", "Lisinopril", "medication", 0.6),
    Allergen(RXNORM, "2551", "Ciprofloxacin", "medication", 0.6),
    Allergen(SNOMED, "111088007", "Latex", "environment", 0.8),
    Allergen(SNOMED, "762952008", "Peanut", "food", 0.8),
    Allergen(SNOMED, "735029006", "Shellfish", "food", 0.9),
    Allergen(SNOMED, "102263004", "Eggs (edible)", "food", 0.4),
    Allergen(SNOMED, "288328004", "Bee venom", "environment", 0.5),
    Allergen(SNOMED, "256277009", "Grass pollen", "environment", 0.9),
    Allergen(SNOMED, "260147004", "House dust mite", "environment", 0.7),
)
NO_KNOWN_ALLERGY: Final = ("716186003", "No known allergy")
REACTIONS: Final = (
    ("271807003", "Eruption of skin", "mild"),
    ("247472004", "Wheal", "moderate"),
    ("422587007", "Nausea", "mild"),
    ("418290006", "Itching", "mild"),
    ("41291007", "Angioedema", "severe"),
    ("56018004", "Wheezing", "moderate"),
    ("39579001", "Anaphylaxis", "severe"),
)


@dataclass(frozen=True, slots=True)
class Vaccine:
    """A vaccine by its CVX code."""

    code: str
    display: str


VACCINES: Final = {
    "influenza-quadrivalent": Vaccine("150", "Influenza, injectable, quadrivalent, preservative free"),
    "influenza-trivalent": Vaccine("140", "Influenza, split virus, trivalent, PF"),
    "covid": Vaccine("208", "COVID-19, mRNA, LNP-S, PF, 30 mcg/0.3 mL dose"),
    "tdap": Vaccine("115", "Tdap"),
    "pneumococcal-20": Vaccine("216", "Pneumococcal conjugate PCV20, polysaccharide CRM197 conjugate, adjuvant, PF"),
    "zoster": Vaccine("187", "zoster recombinant"),
    "mmr": Vaccine("03", "MMR"),
    "varicella": Vaccine("21", "varicella"),
    "dtap": Vaccine("20", "DTaP"),
    "polio": Vaccine("10", "IPV"),
    "hepatitis-b": Vaccine("08", "Hep B, adolescent or pediatric"),
}
