from __future__ import annotations

import re
from pathlib import Path

import pytest

from ehr.sandbox import definitions
from ehr.sandbox.definitions import codes, compartment, element_types, elements, field, fields, parameters, primitive


def test_there_are_146_resource_types_and_the_abstract_ones_are_none_of_them():
    types = definitions.resource_types()
    assert len(types) == 146
    assert types == tuple(sorted(types))
    assert {"Patient", "Binary", "Parameters", "Bundle"} <= set(types)
    assert not {"Resource", "DomainResource", "Timing", "Patient.contact", "SubscriptionStatus"} & set(types)


def test_elements_come_in_the_order_of_the_specification_inherited_first():
    assert list(elements("Period")) == ["id", "extension", "start", "end"]
    assert list(elements("Patient"))[:10] == [
        "id", "meta", "implicitRules", "language", "text", "contained", "extension", "modifierExtension", "identifier",
        "active",
    ]  # fmt: skip
    assert list(elements("Patient.contact"))[:4] == ["id", "extension", "modifierExtension", "relationship"]


def test_an_element_says_its_types_cardinality_binding_and_targets():
    gender = elements("Patient")["gender"]
    assert gender.types == ("code",)
    assert not gender.many and not gender.required and gender.summary and not gender.modifier
    assert gender.binding == "AdministrativeGender"
    assert gender.value_set == "http://hl7.org/fhir/ValueSet/administrative-gender"
    status = elements("Observation")["status"]
    assert status.required and status.modifier
    assert elements("Patient")["name"].many
    subject = elements("Observation")["subject"]
    assert subject.targets["Reference"] == ("Patient", "Group", "Device", "Location")
    assert "Reference" not in elements("Observation")["focus"].targets, "focus may be anything"


def test_a_choice_has_a_key_for_each_type():
    found = field("Observation", "valueQuantity")
    assert found is not None
    assert (found.element.name, found.type) == ("value", "Quantity")
    assert found.element.choice
    assert field("Observation", "valueDecimal") is None, "a decimal is no type of Observation.value"
    assert field("Observation", "value") is None
    assert field("Patient", "nope") is None


def test_a_body_can_be_walked_through_backbone_elements_and_their_recursion():
    item = field("Questionnaire", "item")
    assert item is not None and item.type == "Questionnaire.item"
    nested = field("Questionnaire.item", "item")
    assert nested is not None and nested.type == "Questionnaire.item"
    repeat = field("Timing", "repeat")
    assert repeat is not None and "frequency" in elements(repeat.type)


def test_every_type_that_an_element_names_is_known():
    unknown = [
        (type, element.name, code)
        for type in element_types()
        for element in elements(type).values()
        for code in element.types
        if code not in element_types() and primitive(code) is None
    ]
    assert unknown == []


def test_keys_of_a_type_are_unique():
    for type in element_types():
        expected = sum(len(e.types) if e.choice else 1 for e in elements(type).values())
        assert len(fields(type)) == expected, type


def test_required_codes_have_their_closed_list_with_systems():
    system = "http://hl7.org/fhir/administrative-gender"
    assert codes("http://hl7.org/fhir/ValueSet/administrative-gender") == dict.fromkeys(
        ("male", "female", "other", "unknown"), system
    )
    assert codes("http://hl7.org/fhir/ValueSet/mimetypes") is None
    assert codes("http://example.org/none") is None
    bound = {e.value_set for t in element_types() for e in elements(t).values() if "code" in e.types and e.value_set}
    open_lists = {url.rsplit("/", 1)[-1] for url in bound if codes(url) is None}
    assert open_lists == {"mimetypes", "currencies"}


def test_primitives_know_how_json_writes_them():
    json = {n: p.json for n in ("boolean", "decimal", "positiveInt", "code", "instant") for p in [primitive(n)] if p}
    assert json == {
        "boolean": "boolean",
        "decimal": "number",
        "positiveInt": "number",
        "code": "string",
        "instant": "string",
    }
    id = primitive("id")
    assert id is not None and re.fullmatch(id.pattern, "a-1.b") and not re.fullmatch(id.pattern, "a_b")
    assert primitive("Quantity") is None


def test_parameters_carry_the_terms_of_their_own_type():
    date = parameters("Observation")["date"]
    assert (date.kind, date.expression, date.id) == ("date", "Observation.effective", "clinical-date")
    assert date.documentation.startswith("Obtained date/time.")
    assert parameters("AllergyIntolerance")["date"].expression == "AllergyIntolerance.recordedDate"
    assert parameters("InsurancePlan")["name"].expression == "InsurancePlan.name | InsurancePlan.alias"
    assert parameters("Observation")["focus"].targets == ("*",)
    assert parameters("Observation")["patient"].targets == ("Patient",)
    assert [c.code for c in parameters("Observation")["code-value-quantity"].components] == ["code", "value-quantity"]


def test_every_resource_has_the_common_parameters():
    for type in definitions.resource_types():
        assert {"_id", "_lastUpdated", "_tag", "_profile", "_security", "_source"} <= set(parameters(type)), type
    assert "_text" in parameters("Patient") and "_text" not in parameters("Bundle"), "Bundle is no DomainResource"


def test_all_pairs_of_parameter_and_type_are_there():
    pairs = [(p.type, p.code) for t in [*definitions.resource_types()] for p in parameters(t).values() if p.type == t]
    assert len(pairs) == len(set(pairs)) == 1706 - 9, "1,706 in all, 8 of them on Resource and 1 on DomainResource"


def test_the_patient_compartment():
    assert compartment()["Observation"] == ("subject", "performer")
    assert compartment()["Patient"] == ("link",)
    assert "Practitioner" not in compartment()
    for type, codes_ in compartment().items():
        for code in codes_:
            assert parameters(type)[code].kind == "reference", (type, code)


def test_the_tables_name_their_source():
    folder = Path(definitions.__file__).parent
    for table in folder.glob("*.txt"):
        assert "HL7" in table.read_text(encoding="utf-8").splitlines()[0], table.name


def test_what_the_package_added_to_r4_is_left_out():
    assert set(elements("Binary")) - set(elements("Resource")) == {"contentType", "securityContext", "data"}
    assert "project" not in elements("Meta") and "label" not in elements("ResearchStudy")
    variable = list(elements("EvidenceVariable.characteristic"))
    assert variable[3:] == [
        "description", "definition", "usageContext", "exclude", "participantEffective", "timeFromStart", "groupMeasure"
    ]  # fmt: skip
    assert "status" not in parameters("DetectedIssue")


def test_unknown_types_raise():
    with pytest.raises(KeyError):
        elements("Nope")
    with pytest.raises(KeyError):
        parameters("Nope")
