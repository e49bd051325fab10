"""`readback session open|close`: a task for an agent written elsewhere, from what `readback serve ehr` serves."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import typer

from readback.cli.ending import DONE, INCOMPLETE, Mistake
from readback.cli.options import Json
from readback.cli.output import document, note, result

app = typer.Typer(
    help="Open a task for an agent of your own, and close it.", no_args_is_help=True, rich_markup_mode=None
)

SERVER = "http://127.0.0.1:8080"
_SECONDS = 60.0

Server = Annotated[str | None, typer.Option(metavar="URL", help=f"The server; else $READBACK_SERVER, else {SERVER}.")]


@app.command("open")
def open_session(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's id; readback list tasks.")],
    server: Server = None,
    agent: Annotated[str, typer.Option(metavar="NAME", help="What the agent is called in the tables.")] = "session",
    condition: Annotated[str, typer.Option(metavar="NAME", help="default or grounded.")] = "default",
    fault: Annotated[str | None, typer.Option(metavar="NAME", help="Inject this fault; readback list faults.")] = None,
    validation: Annotated[str, typer.Option(metavar="hapi|full", help="What a write must satisfy.")] = "hapi",
    as_json: Json = False,
) -> int:
    """Open a session on a task.

    It gives an instruction, and the address of a FHIR server of its own.
    """
    variant = {"validation": validation, "fault": fault}
    opened = _posted(
        server, "/sessions", {"task": task, "agent": agent, "condition": condition, "variant": variant}
    )  # fmt: skip
    if as_json:
        document(opened)
        return DONE
    from harness.visible import visible

    result(visible(opened["instruction"]))
    result()
    result(f"server   {opened['base_url']}")
    result(f"it is    {opened['clock']}")
    result(f"session  {opened['session']}  (until {opened['expires']})")
    elsewhere = "" if server is None else f" --server {server}"
    note(f"  when it is done:  readback session close {opened['session']} --outcome done{elsewhere}")
    return DONE


@app.command("close")
def close_session(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session, as it was opened.")],
    outcome: Annotated[
        Literal["done", "not_done", "unclear"], typer.Option(help="What the agent says came of it.")
    ] = "unclear",
    answer: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="A value of the answer; may be given several times.")
    ] = None,
    text: Annotated[str, typer.Option("--note", metavar="TEXT", help="Anything to add.")] = "",
    server: Server = None,
    as_json: Json = False,
) -> int:
    """Close a session with its answer, and print the verdicts.

    Exit 3 where nobody can judge it.
    """
    from urllib.parse import quote

    said = {"outcome": outcome, "answer": list(answer or ()), "note": text}
    closed = _posted(server, f"/sessions/{quote(session, safe='')}/finish", said, about=session)
    if as_json:
        document(closed)
    else:
        _show(closed)
    return INCOMPLETE if closed["success"] is None else DONE


def _show(closed: dict[str, Any]) -> None:
    from harness.visible import visible

    words = {True: "success", False: "failure", None: "unscored"}
    result(f"{closed['task']}: {words[closed['success']]}")
    for verdict in closed["verdicts"]:
        more = [*verdict["labels"], *verdict["notes"], *([verdict["reason"]] if verdict["reason"] else [])]
        result(visible(f"  {verdict['lens']:<9} {verdict['outcome']:<8} {', '.join(more)}".rstrip()))
        for clause in verdict["clauses"]:
            if clause["outcome"] == "fail":
                result(visible(f"    {clause['name']}: {clause['label'] or 'fails'} ({clause['actual'] or 'nothing'})"))


def _posted(server: str | None, path: str, sent: dict[str, Any], *, about: str = "") -> dict[str, Any]:
    """What the server gives. Raises `Mistake` where it refuses, with its sentence in words of this command, and where
    there is none. `about` is the session that was named.
    """
    import requests

    base = (server or os.environ.get("READBACK_SERVER") or SERVER).rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise Mistake(f"{base!r} is no address of a server; write it with http://, such as {SERVER}")
    with requests.Session() as client:
        client.trust_env = False
        try:
            answer = client.post(base + path, json=sent, timeout=_SECONDS, allow_redirects=False)
            given = answer.json()
        except requests.exceptions.JSONDecodeError:
            raise Mistake(
                f"what answers at {base} is no server of sessions; start one by: readback serve ehr"
            ) from None
        except requests.RequestException:
            raise Mistake(f"no server answers at {base}; start one by: readback serve ehr") from None
    if answer.status_code >= 300 or not isinstance(given, dict):
        said = given.get("error") if isinstance(given, dict) else None
        if not said:
            raise Mistake(f"{base}{path} was answered {answer.status_code}; is it a server of sessions?")
        told = str(said).replace("POST /sessions", "readback session open TASK").replace("GET /tasks", f"{base}/tasks")
        raise Mistake(f"{about!r}: {told}" if about else told)
    return given
