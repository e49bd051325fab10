"""The people of the synthetic record: names that are mistaken for each other on purpose, and demographics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from ehr.tasks.synthetic import codes
from ehr.tasks.synthetic.draw import Draw

Json = dict[str, Any]

FEMALE = (
    "Maria", "Anna", "Ruth", "Helen", "Grace", "Linda", "Susan", "Karen", "Nancy", "Betty", "Dorothy", "Emily",
    "Amanda", "Melissa", "Deborah", "Laura", "Rebecca", "Sharon", "Cynthia", "Angela", "Brenda", "Pamela", "Nicole",
    "Katherine", "Samantha", "Christine", "Rachel", "Carolyn", "Janet", "Virginia", "Heather", "Diane", "Julie",
    "Joyce", "Victoria", "Olivia", "Zoë", "Renée", "Aisha", "Fatima", "Priya", "Mei", "Yuki", "Ngozi", "Amara",
    "Leila", "Noor", "Ingrid", "Chloe", "Beatriz", "Lucía", "Inés", "Thuy", "Soo-Jin", "Agnieszka", "Svetlana",
    "Adaeze", "Hana", "Ebony", "Siobhán",
)  # fmt: skip
MALE = (
    "James", "Robert", "John", "Michael", "David", "William", "Richard", "Joseph", "Thomas", "Charles", "Daniel",
    "Matthew", "Anthony", "Mark", "Donald", "Steven", "Paul", "Andrew", "Joshua", "Kenneth", "Kevin", "Brian",
    "George", "Timothy", "Ronald", "Edward", "Jason", "Jeffrey", "Ryan", "Jacob", "Gary", "Nicholas", "Eric",
    "Jonathan", "Stephen", "Larry", "Justin", "Scott", "Brandon", "Samuel", "José", "Luis", "Miguel", "Andrés",
    "Ahmed", "Omar", "Raj", "Vikram", "Wei", "Hiroshi", "Chidi", "Kwame", "Tariq", "Lars", "Björn", "Piotr",
    "Minh", "Jin-Woo", "Diego", "Seán",
)  # fmt: skip
FAMILY = (
    "Smith", "Johnson", "Williams", "Brown", "Jones", "Miller", "Davis", "Wilson", "Anderson", "Taylor", "Moore",
    "Jackson", "Martin", "Lee", "Thompson", "White", "Harris", "Clark", "Lewis", "Robinson", "Walker", "Young",
    "Allen", "King", "Wright", "Scott", "Green", "Baker", "Adams", "Nelson", "Hill", "Campbell", "Mitchell",
    "Roberts", "Carter", "Phillips", "Evans", "Turner", "Parker", "Collins", "Edwards", "Stewart", "Morris",
    "Murphy", "Cook", "Rogers", "Morgan", "Cooper", "Peterson", "Reed", "Bailey", "Bell", "Kelly", "Howard", "Ward",
    "Cox", "Richardson", "Wood", "Watson", "Brooks", "Bennett", "Gray", "Hughes", "Price", "Sanders", "Myers",
    "Ross", "Foster", "Powell", "Jenkins", "Perry", "Russell", "Sullivan", "Fisher", "Henderson", "Cole", "West",
    "García", "Martínez", "Hernández", "López", "González", "Pérez", "Núñez", "Ramírez", "Flores", "Díaz", "Silva",
    "Costa", "Nguyen", "Tran", "Pham", "Kim", "Park", "Chen", "Wang", "Liu", "Patel", "Shah", "Singh", "Khan",
    "Ahmed", "Hassan", "Okafor", "Mensah", "Adeyemi", "Kowalski", "Nowak", "Novák", "Müller", "Schmidt", "O'Brien",
    "O'Connor", "McCarthy", "van der Berg", "de la Cruz", "Larsson", "Johansson", "Rossi", "Tanaka", "Sato",
    "Ivanov", "Smith-Jones", "Abdi", "Ali", "Cohen", "Levy",
)  # fmt: skip
_STREETS = (
    "Maple Street", "Oak Avenue", "Cedar Lane", "Elm Street", "Washington Street", "Lakeview Drive", "Hillcrest Road",
    "Park Avenue", "Chestnut Street", "Riverside Drive", "Church Street", "Highland Avenue", "Mill Road",
    "Prospect Street", "Spring Street", "Walnut Street", "Harbor Way", "Orchard Road", "School Street",
)  # fmt: skip
_CITIES = (
    ("Boston", "MA", "02118"), ("Cambridge", "MA", "02139"), ("Quincy", "MA", "02169"), ("Worcester", "MA", "01604"),
    ("Lowell", "MA", "01851"), ("Springfield", "MA", "01109"), ("Somerville", "MA", "02143"), ("Salem", "MA", "01970"),
    ("Providence", "RI", "02906"), ("Nashua", "NH", "03060"), ("Portland", "ME", "04102"), ("Hartford", "CT", "06105"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Person:
    """One patient's demographics. `deceased` is the day of death; `former` a family name given up (married, say)."""

    mrn: str
    given: tuple[str, ...]
    family: str
    sex: str
    birth: date
    phone: str
    mobile: str | None
    email: str | None
    street: str
    city: tuple[str, str, str]
    deceased: date | None = None
    former: str | None = None
    suffix: str | None = None
    nickname: str | None = None
    member: str | None = None

    @property
    def key(self) -> tuple[str, str, date]:
        """What a clinician would look this person up by: first given name, family name, date of birth."""
        return self.given[0], self.family, self.birth

    def age(self, on: date) -> int:
        """Completed years on that day."""
        return on.year - self.birth.year - ((on.month, on.day) < (self.birth.month, self.birth.day))


@dataclass(frozen=True, slots=True)
class _Likeness:
    """What makes a person easy to mistake for another: whatever is named is taken from it, the rest is drawn."""

    given: tuple[str, ...]
    family: str
    sex: str
    birth: date | None = None
    suffix: str | None = None
    home: int | None = None
    former: str | None = None
    nickname: str | None = None
    deceased: bool | None = None


def _likenesses() -> tuple[tuple[_Likeness, ...], ...]:
    """Groups of people who are mistaken for each other, the most instructive groups first."""
    return (
        # one name, two or three people
        (_Likeness(("Maria", "Elena"), "García", "female", date(1957, 3, 14)),
         _Likeness(("Maria",), "García", "female", date(1975, 3, 14)),
         _Likeness(("Maria", "Luisa"), "García", "female", date(1988, 11, 2))),
        (_Likeness(("John", "Robert"), "Miller", "male", date(1949, 7, 9)),
         _Likeness(("John",), "Miller", "male", date(1962, 1, 27))),
        (_Likeness(("Linda",), "Nguyen", "female", date(1966, 5, 30)),
         _Likeness(("Linda", "Thuy"), "Nguyen", "female", date(1991, 5, 30))),
        # names that sound or look alike
        (_Likeness(("Katherine",), "Nolan", "female", date(1971, 8, 21)),
         _Likeness(("Catherine",), "Nolan", "female", date(1971, 12, 8)),
         _Likeness(("Kathryn", "Ann"), "Noland", "female", date(1969, 8, 21))),
        (_Likeness(("Stephen",), "Clarke", "male", date(1954, 2, 11)),
         _Likeness(("Steven",), "Clark", "male", date(1954, 11, 2))),
        (_Likeness(("Anna",), "Müller", "female", date(1983, 6, 17)),
         _Likeness(("Anne",), "Mueller", "female", date(1983, 6, 19))),
        # father and son; twins
        (_Likeness(("Robert", "James"), "Sullivan", "male", date(1946, 10, 4), "Sr.", 1),
         _Likeness(("Robert", "James"), "Sullivan", "male", date(1974, 4, 10), "Jr.", 1)),
        (_Likeness(("Grace", "Hana"), "Kim", "female", date(1998, 9, 3), None, 2),
         _Likeness(("Joyce", "Hana"), "Kim", "female", date(1998, 9, 3), None, 2)),
        # one date of birth, two names that are not alike
        (_Likeness(("Omar",), "Hassan", "male", date(1960, 12, 1)),
         _Likeness(("Diane",), "Peterson", "female", date(1960, 12, 1))),
        # a name given up, and someone who still has it; a birthday in a leap year; the eve of a birthday
        (_Likeness(("Rebecca",), "Foster", "female", date(1979, 1, 16), former="Brooks"),
         _Likeness(("Rebecca",), "Brooks", "female", date(1977, 1, 15))),
        (_Likeness(("William",), "Carter", "male", date(1956, 2, 29), nickname="Bill"),),
        (_Likeness(("Dorothy", "Mae"), "Jenkins", "female", date(1931, 1, 16), nickname="Dot"),),
        (_Likeness(("José", "Luis"), "Núñez", "male", date(1968, 4, 5), deceased=True),
         _Likeness(("José",), "Núñez", "male", date(1986, 5, 4), deceased=False)),
    )  # fmt: skip


def people(number: int, seed: int, today: date, *, alive: bool = False) -> Iterator[Person]:
    """`number` people, no two with the same first name, family name and date of birth; none with another's MRN.

    Below a third of them belong to groups that are mistaken for each other; where `number` is small, the first groups.
    `alive`: adults only, and nobody has died.
    """
    draw = Draw("people", seed)
    mrns = _mrns(Draw("mrn", seed))
    likenesses = [alike for group in _likenesses() for alike in group][: number // 3]
    plain: list[_Likeness | None] = [None] * (number - len(likenesses))
    homes: dict[int, tuple[str, tuple[str, str, str]]] = {}
    taken: set[tuple[str, str, date]] = set()
    cast: list[_Likeness | None] = draw.shuffled([*likenesses, *plain])
    for position, likeness in enumerate(cast):
        person = _person(draw, likeness, next(mrns), position, today)
        if alive:
            person = replace(
                person, deceased=None, birth=min(person.birth, date(today.year - 19, 6, position % 28 + 1))
            )
        while person.key in taken:
            person = replace(person, birth=person.birth - timedelta(days=draw.whole(1, 700)))
        if likeness and likeness.home is not None:
            street, city = homes.setdefault(likeness.home, (person.street, person.city))
            person = replace(person, street=street, city=city)
        taken.add(person.key)
        yield person


def _person(draw: Draw, likeness: _Likeness | None, mrn: str, position: int, today: date) -> Person:
    sex = likeness.sex if likeness else draw.pick(("female", "male"))
    first = FEMALE if sex == "female" else MALE
    given: tuple[str, ...] = (draw.pick(first),)
    if draw.chance(0.55):
        given = (*given, draw.pick(first))
    if draw.chance(0.02):
        given = (*given, draw.pick(first))
    family, former, nickname = draw.pick(FAMILY), None, None
    if sex == "female" and draw.chance(0.16):
        former = draw.pick(FAMILY)
    birth, dies = _birth(draw, today), draw.chance(0.055)
    if likeness:
        given, family, birth = likeness.given, likeness.family, likeness.birth or birth
        former, nickname = likeness.former, likeness.nickname
        dies = bool(likeness.deceased)
    grown = birth.year <= today.year - 18
    # 555-01xx are the numbers kept free for fiction; the area code and the last two digits make them differ
    phone = f"+1-{_area(position // 100)}-555-01{position % 100:02d}"
    mobile = f"+1-{_area(position // 100 + 400)}-555-01{position % 100:02d}" if draw.chance(0.7) and grown else None
    email = (
        f"{_plain(given[0])}.{_plain(family)}{draw.whole(1, 97)}@example.com" if draw.chance(0.6) and grown else None
    )
    return Person(
        mrn=mrn, given=given, family=family, sex=sex, birth=birth, phone=phone, mobile=mobile, email=email,
        street=f"{draw.whole(2, 488)} {draw.pick(_STREETS)}", city=draw.pick(_CITIES),
        deceased=today - timedelta(days=draw.whole(20, 1100)) if dies and grown else None,
        former=former if former != family else None, nickname=nickname, suffix=likeness.suffix if likeness else None,
        member=f"{draw.pick('ABCDEFGH')}{draw.whole(10**8, 10**9 - 1)}" if draw.chance(0.8) else None,
    )  # fmt: skip


def _birth(draw: Draw, today: date) -> date:
    """Mostly adults, some very old, a few children: a hospital's patients."""
    low, high = draw.weighted(((1, 17), (18, 39), (40, 64), (65, 84), (85, 97)), (6, 20, 34, 32, 8))
    return today - timedelta(days=draw.whole(low * 365 + low // 4 + 1, high * 365 + high // 4 + 364))


def _mrns(draw: Draw) -> Iterator[str]:
    """Eight digits; every ninth is the one before with two neighbouring digits changed over."""
    taken: set[str] = set()
    last = ""
    while True:
        number = str(draw.whole(10**7, 4 * 10**7 - 1))
        if last and draw.chance(1 / 9):
            place = draw.whole(2, 6)
            number = last[:place] + last[place + 1] + last[place] + last[place + 2 :]
        if number not in taken:
            taken.add(number)
            last = number
            yield number


def _area(number: int) -> int:
    return 201 + number * 37 % 780


def _plain(name: str) -> str:
    """A name as it stands in an email address: lower case, no accents, blanks or apostrophes."""
    import unicodedata

    return "".join(
        letter for letter in unicodedata.normalize("NFKD", name).lower() if letter.isascii() and letter.isalpha()
    )


def patient(person: Person, logical_id: str, meta: Json, doctor: str | None, hospital: str | None) -> Json:
    """The Patient resource of a person."""
    names: list[Json] = [{"use": "official", "family": person.family, "given": list(person.given)}]
    if person.suffix:
        names[0]["suffix"] = [person.suffix]
    if person.nickname:
        names.append({"use": "nickname", "family": person.family, "given": [person.nickname]})
    if person.former:
        names.append({"use": "maiden", "family": person.former, "given": list(person.given)})
    telecom: list[Json] = [{"system": "phone", "value": person.phone, "use": "home"}]
    if person.mobile:
        telecom.append({"system": "phone", "value": person.mobile, "use": "mobile"})
    if person.email:
        telecom.append({"system": "email", "value": person.email, "use": "home"})
    record_number = _identifier("MR", "Medical Record Number", codes.MRN, person.mrn)
    resource: Json = {
        "resourceType": "Patient", "id": logical_id, "meta": meta,
        "identifier": [{"use": "usual", **record_number}],
        "active": True, "name": names, "telecom": telecom, "gender": person.sex, "birthDate": person.birth.isoformat(),
    }  # fmt: skip
    if person.member:
        resource["identifier"].append(_identifier("MB", "Member Number", codes.MEMBER, person.member))
    if person.deceased:
        resource["deceasedDateTime"] = person.deceased.isoformat()
    town, state, postal_code = person.city
    resource["address"] = [
        {
            "use": "home",
            "line": [person.street],
            "city": town,
            "state": state,
            "postalCode": postal_code,
            "country": "US",
        }
    ]
    if doctor:
        resource["generalPractitioner"] = [{"reference": f"Practitioner/{doctor}"}]
    if hospital:
        resource["managingOrganization"] = {"reference": f"Organization/{hospital}"}
    return resource


def _identifier(code: str, display: str, system: str, value: str) -> Json:
    return {
        "type": {"coding": [{"system": codes.V2_0203, "code": code, "display": display}], "text": display},
        "system": system,
        "value": value,
    }


@dataclass(frozen=True, slots=True)
class Staff:
    """The ids of those who look after patients: practitioners by kind, and organizations by name."""

    doctors: tuple[str, ...]
    hospitalists: tuple[str, ...]
    hospital: str
    laboratory: str
    outside_laboratory: str


_DEPARTMENTS = ("Internal Medicine", "Cardiology", "Emergency Department", "Orthopedic Surgery", "Primary Care")


def staff(draw: Draw, give: Any, meta: Any, size: int) -> tuple[Staff, list[Json]]:
    """The hospital, its laboratory and departments, an outside laboratory, and `size` practitioners."""
    hospital, laboratory, outside = give(), give(), give()
    rows = [
        _organization(hospital, meta(), "Alder Point General Hospital", None),
        _organization(laboratory, meta(), "Alder Point General Hospital Laboratory", hospital),
        _organization(outside, meta(), "Northgate Reference Laboratory", None),
    ]
    rows += [_organization(give(), meta(), f"Alder Point General Hospital {name}", hospital) for name in _DEPARTMENTS]
    practitioners = [give() for _ in range(size)]
    for number, logical_id in enumerate(practitioners):
        sex = draw.pick(("female", "male"))
        given = draw.pick(FEMALE if sex == "female" else MALE)
        rows.append(
            {
                "resourceType": "Practitioner", "id": logical_id, "meta": meta(),
                "identifier": [{"system": codes.STAFF, "value": f"AP{4100 + number * 7}"}],
                "active": True,
                "name": [{"use": "official", "family": draw.pick(FAMILY), "given": [given], "prefix": ["Dr."]}],
                "telecom": [{"system": "phone", "value": f"+1-617-555-01{number % 100:02d}", "use": "work"}],
                "gender": sex,
            }
        )  # fmt: skip
    middle = max(1, size * 2 // 3)
    people = Staff(
        tuple(practitioners[:middle]), tuple(practitioners[middle:] or practitioners), hospital, laboratory, outside
    )
    return people, rows


def _organization(logical_id: str, meta: Json, name: str, part_of: str | None) -> Json:
    code, words = ("dept", "Hospital Department") if part_of else ("prov", "Healthcare Provider")
    resource: Json = {
        "resourceType": "Organization", "id": logical_id, "meta": meta, "active": True,
        "type": [{"coding": [{"system": codes.TERMINOLOGY + "organization-type", "code": code, "display": words}]}],
        "name": name,
    }  # fmt: skip
    if part_of:
        resource["partOf"] = {"reference": f"Organization/{part_of}"}
    return resource
