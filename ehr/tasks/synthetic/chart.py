"""Writes one patient's chart entry by entry: each method is a type of entry as this hospital records it."""

from __future__ import annotations

from collections.abc import Mapping

from ehr.tasks.synthetic import codes
from ehr.tasks.synthetic.body import Body, Shifts
from ehr.tasks.synthetic.codes import ACTS, DRUGS, LABS, PANELS, TERMINOLOGY
from ehr.tasks.synthetic.draw import Draw
from ehr.tasks.synthetic.people import Staff
from ehr.tasks.synthetic.rows import MINUTES_A_DAY as DAY
from ehr.tasks.synthetic.rows import Json, Rows, coding, concept, day, quantity, stamp

PROBLEM, DIAGNOSIS = ("problem-list-item", "Problem List Item"), ("encounter-diagnosis", "Encounter Diagnosis")
LABORATORY, REFERRAL = ("108252007", "Laboratory procedure"), ("3457005", "Patient referral")
OBSERVATION_CATEGORY = TERMINOLOGY + "observation-category"
_LATE = 100  # minutes; a result younger than that is still preliminary


class Chart:
    """One patient's chart. `staff` and `doctor` are None in a record that knows no practitioners."""

    def __init__(self, rows: Rows, draw: Draw, body: Body, clock: int, staff: Staff | None, doctor: str | None) -> None:
        self.rows, self.draw, self.body, self.clock, self.staff, self.doctor = rows, draw, body, clock, staff, doctor

    # what was found and decided

    def encounter(
        self, code: str, display: str, kind: tuple[str, str], began: int, ended: int | None, doctor: str | None, *,
        reason: str | None = None,
    ) -> str:  # fmt: skip
        """A visit (`AMB`) or an admission (`IMP`); without an end it goes on."""
        content: Json = {
            "status": "finished" if ended is not None else "in-progress",
            "class": coding(TERMINOLOGY + "v3-ActCode", code, display),
            "type": [concept(codes.SNOMED, *kind)],
            "subject": self.rows.subject,
            "participant": [{"individual": {"reference": f"Practitioner/{doctor or self.doctor}"}}],
            "period": {"start": stamp(began)} | ({"end": stamp(ended)} if ended is not None else {}),
        }
        if reason:
            content["diagnosis"] = [{"condition": {"reference": f"Condition/{reason}"}}]
        if self.staff:
            content["serviceProvider"] = {"reference": f"Organization/{self.staff.hospital}"}
        return self.rows.add("Encounter", ended if ended is not None else began, content)

    def condition(
        self, code: str, display: str, icd: str, recorded: int, *, category: tuple[str, str], onset: int | None = None,
        abated: int | None = None, verification: str = "confirmed", status: str | None = None,
        encounter: str | None = None, logical_id: str | None = None,
    ) -> str:  # fmt: skip
        """A problem or diagnosis; resolved where it has abated, with no clinical status where entered in error."""
        content: Json = {}
        if verification != "entered-in-error":
            clinical = status or ("resolved" if abated is not None else "active")
            content["clinicalStatus"] = {"coding": [{"system": TERMINOLOGY + "condition-clinical", "code": clinical}]}
        content["verificationStatus"] = {
            "coding": [{"system": TERMINOLOGY + "condition-ver-status", "code": verification}]
        }
        content["category"] = [{"coding": [coding(TERMINOLOGY + "condition-category", *category)]}]
        both = [coding(codes.SNOMED, code, display), {"system": codes.ICD10CM, "code": icd}]
        content |= {"code": {"coding": both, "text": display}, "subject": self.rows.subject}
        if encounter:
            content["encounter"] = {"reference": f"Encounter/{encounter}"}
        if onset is not None:
            content["onsetDateTime"] = day(onset // DAY) if category == PROBLEM else stamp(onset)
        if abated is not None:
            content["abatementDateTime"] = day(abated // DAY)
        content["recordedDate"] = stamp(recorded)
        if self.doctor:
            content["recorder"] = {"reference": f"Practitioner/{self.doctor}"}
        return self.rows.add("Condition", recorded, content, logical_id)

    def allergy(self, allergen: codes.Allergen | None, recorded: int, verification: str) -> str:
        """An allergy or intolerance; without an allergen, the statement that none is known."""
        draw = self.draw
        content: Json = {}
        if verification != "entered-in-error":
            status = "inactive" if verification == "refuted" else "active"
            content["clinicalStatus"] = {
                "coding": [{"system": TERMINOLOGY + "allergyintolerance-clinical", "code": status}]
            }
        system = TERMINOLOGY + "allergyintolerance-verification"
        content["verificationStatus"] = {"coding": [{"system": system, "code": verification}]}
        manifestation, words, severity = draw.pick(codes.REACTIONS)
        if allergen:
            content |= {
                "type": "intolerance" if severity == "mild" and draw.chance(0.3) else "allergy",
                "category": [allergen.category],
                "criticality": "high" if severity == "severe" else "low",
                "code": concept(allergen.system, allergen.code, allergen.display),
            }
        else:
            content["code"] = concept(codes.SNOMED, *codes.NO_KNOWN_ALLERGY)
        content |= {"patient": self.rows.subject, "recordedDate": stamp(recorded)}
        if self.doctor:
            content["recorder"] = {"reference": f"Practitioner/{self.doctor}"}
        if allergen and draw.chance(0.85):
            content["reaction"] = [
                {"manifestation": [concept(codes.SNOMED, manifestation, words)], "severity": severity}
            ]
        return self.rows.add("AllergyIntolerance", recorded, content)

    def smoking(self, at: int, habit: int) -> str:
        """Whether the patient smokes, as told."""
        code, display, name = codes.SMOKING
        content: Json = {
            "status": "final",
            "category": [{"coding": [coding(OBSERVATION_CATEGORY, "social-history", "Social History")]}],
            "code": concept(codes.LOINC, code, display, name), "subject": self.rows.subject,
            "effectiveDateTime": stamp(at), "issued": stamp(at),
            "valueCodeableConcept": concept(codes.SNOMED, *codes.SMOKING_STATUS[habit]),
        }  # fmt: skip
        return self.rows.add("Observation", at, content)

    # what was ordered and done

    def prescription(
        self, key: str, at: int, status: str, *, category: str, encounter: str | None = None, reason: str | None = None,
        days: int | None = None, doctor: str | None = None, changed: int | None = None,
    ) -> str:  # fmt: skip
        """A MedicationRequest. `days` of supply; `changed` is when its status last changed."""
        drug = DRUGS[key]
        content: Json = {"status": status}
        if status == "stopped":
            content["statusReason"] = {
                "text": self.draw.pick(("Side effects", "No longer needed", "Changed to another drug"))
            }
        system = TERMINOLOGY + "medicationrequest-category"
        content |= {
            "intent": "order",
            "category": [{"coding": [coding(system, category, category.capitalize())]}],
            "medicationCodeableConcept": concept(drug.system, drug.code, drug.display, drug.name),
            "subject": self.rows.subject,
        }
        if encounter:
            content["encounter"] = {"reference": f"Encounter/{encounter}"}
        content["authoredOn"] = stamp(at)
        if doctor or self.doctor:
            content["requester"] = {"reference": f"Practitioner/{doctor or self.doctor}"}
        if reason:
            content["reasonReference"] = [{"reference": f"Condition/{reason}"}]
        content["dosageInstruction"] = [dosage(drug)]
        if days:
            supply = quantity(days, "d", "days")
            content["dispenseRequest"] = {
                "numberOfRepeatsAllowed": 3 if days >= 60 else 0,
                "expectedSupplyDuration": supply,
            }
        return self.rows.add("MedicationRequest", changed or at, content)

    def order(
        self, system: str, code: str, display: str, name: str, at: int, status: str, *, encounter: str | None = None,
        occurrence: int | None = None, note: str | None = None, category: tuple[str, str] = LABORATORY,
    ) -> str:  # fmt: skip
        """A ServiceRequest."""
        content: Json = {
            "status": status, "intent": "order", "category": [concept(codes.SNOMED, *category)], "priority": "routine",
            "code": concept(system, code, display, name), "subject": self.rows.subject,
        }  # fmt: skip
        if encounter:
            content["encounter"] = {"reference": f"Encounter/{encounter}"}
        if occurrence is not None:
            content["occurrenceDateTime"] = stamp(occurrence)
        content |= {"authoredOn": stamp(at), "requester": {"reference": f"Practitioner/{self.doctor}"}}
        if note:
            content["note"] = [{"text": note}]
        return self.rows.add("ServiceRequest", at, content)

    def panel_order(
        self, key: str, at: int, status: str, *, encounter: str | None = None, occurrence: int | None = None
    ) -> str:
        """An order for a laboratory panel."""
        panel = PANELS[key]
        return self.order(
            codes.LOINC, panel.code, panel.display, panel.name, at, status, encounter=encounter, occurrence=occurrence
        )

    def procedure(self, key: str, at: int, encounter: str | None = None, *, status: str = "completed") -> str:
        """A Procedure."""
        act = ACTS[key]
        content: Json = {
            "status": status,
            "code": concept(codes.SNOMED, act.code, act.display),
            "subject": self.rows.subject,
        }
        if encounter:
            content["encounter"] = {"reference": f"Encounter/{encounter}"}
        content["performedDateTime"] = stamp(at)
        if self.doctor:
            content["performer"] = [{"actor": {"reference": f"Practitioner/{self.doctor}"}}]
        return self.rows.add("Procedure", at, content)

    def vaccine(self, key: str, at: int) -> str:
        """A vaccination, now and then declined."""
        draw, vaccine = self.draw, codes.VACCINES[key]
        declined = draw.chance(0.03)
        content: Json = {"status": "not-done" if declined else "completed"}
        if declined:
            content["statusReason"] = concept(TERMINOLOGY + "v3-ActReason", "PATOBJ", "patient objection")
        content |= {
            "vaccineCode": concept(codes.CVX, vaccine.code, vaccine.display), "patient": self.rows.subject,
            "occurrenceDateTime": stamp(at), "primarySource": True,
        }  # fmt: skip
        if not declined:
            content["lotNumber"] = f"{draw.pick('ABEFKMT')}{draw.whole(1000, 9999)}{draw.pick('ABC')}"
        return self.rows.add("Immunization", at, content)

    # what was measured

    def panel(
        self, key: str, taken: int, place: str, shifts: Shifts, age: int, *, until: int, encounter: str | None = None,
        ordered: int | None = None, outside: str | None = None, report: bool = False,
    ) -> Mapping[str, float]:  # fmt: skip
        """One sample's results, none known after `until`; the order before and the report after, where asked for."""
        draw, rows, panel = self.draw, self.rows, PANELS[key]
        values = self.body.labs(panel.labs, taken, age, shifts)
        issued = min(taken + draw.whole(35, 160), until)
        fresh = taken > self.clock - _LATE
        results = []
        for name, value in values.items():
            slip = draw.fraction()
            if name == "potassium" and slip > 0.988:
                rows.unresulted(name, taken, issued, place, "Specimen hemolyzed")
                continue
            status = "preliminary" if fresh else "corrected" if slip < 0.004 else "final"
            results.append(rows.lab(name, value, taken, issued, place, status=status, outside=outside))
            if 0.01 < slip < 0.0145:
                # the same sample, first keyed with the point in the wrong place and then withdrawn
                wrong = value * 10 if value * 10 <= LABS[name].ceiling * 3 else value / 10
                note = "Entered in error, see corrected result"
                rows.lab(name, wrong, taken, issued - 1, place, status="entered-in-error", note=note)
        order = self.panel_order(key, ordered, "completed", encounter=encounter) if ordered is not None else None
        if report and len(results) >= 4 and self.staff:
            content: Json = {"basedOn": [{"reference": f"ServiceRequest/{order}"}]} if order else {}
            content |= {
                "status": "preliminary" if fresh else "final",
                "category": [{"coding": [coding(TERMINOLOGY + "v2-0074", "LAB", "Laboratory")]}],
                "code": concept(codes.LOINC, panel.code, panel.display, panel.name),
                "subject": rows.subject,
            }
            if encounter:
                content["encounter"] = {"reference": f"Encounter/{encounter}"}
            content |= {
                "effectiveDateTime": stamp(taken), "issued": stamp(issued),
                "performer": [{"reference": f"Organization/{outside or self.staff.laboratory}"}],
                "result": [{"reference": f"Observation/{row}"} for row in results],
            }  # fmt: skip
            rows.add("DiagnosticReport", issued, content)
        return values

    def pressure(self, at: int, place: str, shifts: Shifts, *, lower: float = 0.0) -> tuple[float, float]:
        """A blood pressure, `lower` than an adult's by so many mmHg in a child."""
        systolic = self.body.vital("systolic", at, shifts) - lower
        diastolic = min(self.body.vital("diastolic", at, shifts) - lower * 0.65, systolic - 18)
        self.rows.pressure(systolic, diastolic, at, place)
        return systolic, diastolic

    def vital(self, key: str, at: int, place: str, shifts: Shifts) -> None:
        """A vital sign."""
        self.rows.vital(key, self.body.vital(key, at, shifts), at, place)


def dosage(drug: codes.Drug) -> Json:
    """How the drug is taken, in words and as data."""
    often = {(1, 1, "d"): "once daily", (2, 1, "d"): "twice daily", (3, 1, "d"): "three times daily",
             (4, 1, "d"): "four times daily", (1, 1, "wk"): "once weekly"}  # fmt: skip
    rhythm = often.get((drug.times, drug.per, drug.per_unit), f"every {drug.per} hours")
    how = {"oral": "by mouth", "subcutaneous": "under the skin", "inhalation": "inhaled", "intravenous": "into a vein"}
    needed = " as needed" if drug.as_needed else ""
    content: Json = {
        "text": f"{drug.dose:g} {drug.shown} {how[drug.route]} {rhythm}{needed}",
        "timing": {"repeat": {"frequency": drug.times, "period": drug.per, "periodUnit": drug.per_unit}},
    }
    if drug.as_needed:
        content["asNeededBoolean"] = True
    content["route"] = concept(codes.SNOMED, *codes.ROUTES[drug.route])
    content["doseAndRate"] = [{"doseQuantity": quantity(drug.dose, drug.unit, drug.shown)}]
    return content
