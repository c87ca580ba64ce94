"""Writes src/fiscal_data/types.py, operations.py and async_operations.py from the OpenAPI document: generate.py [document] [folder].

datamodel-code-generator makes the types. The operations are a method each, with the parameters of the query, the path and the body by name;
those that can answer a table in CSV have a second one, whose name ends in _csv.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
METHODS = ("get", "post", "put", "patch", "delete")
CSV = "text/csv"
RESERVED = {"from", "import", "global", "in", "is", "class"}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def upper(name: str) -> str:
    return name[0].upper() + name[1:]


def opened(value: Any) -> Any:
    """Answers may get members: no type is closed."""
    if isinstance(value, dict):
        return {k: opened(v) for k, v in value.items() if not (k == "additionalProperties" and v is False)}
    return [opened(one) for one in value] if isinstance(value, list) else value


def lift(document: dict[str, Any], content: dict[str, Any] | None, name: str) -> str | None:
    """The name of the type of a JSON content, which gets one if it has none; None where it is no JSON."""
    schema = (content or {}).get("application/json", {}).get("schema")
    # A file may be JSON too: its bytes are answered, and sent, as they are.
    if schema is None or schema.get("format") == "binary":
        return None
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    document["components"]["schemas"].setdefault(name, schema)
    return name


def annotation(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "Literal[" + ", ".join(repr(one) for one in schema["enum"]) + "]"
    if "$ref" in schema:
        return "types." + upper(str(schema["$ref"]).rsplit("/", 1)[1])
    if "anyOf" in schema or "oneOf" in schema:
        return " | ".join(dict.fromkeys(annotation(one) for one in schema.get("anyOf", schema.get("oneOf", []))))
    if schema.get("type") == "array":
        return f"Sequence[{annotation(schema.get('items', {}))}]"
    return {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}.get(str(schema.get("type")), "str")


def argument(name: str) -> str:
    return name + "_" if name in RESERVED else name


def method(operation: dict[str, Any], verb: str, path: str, names: tuple[str | None, str | None], has_csv: bool) -> str:
    body, answer = names
    parameters = [p for p in operation.get("parameters", []) if "$ref" not in p and p["in"] in ("path", "query") and not p.get("deprecated")]
    # The name in camel case is another spelling of a parameter that has one in snake case.
    known = {p["name"] for p in parameters}
    parameters = [p for p in parameters if snake(p["name"]) == p["name"] or snake(p["name"]) not in known]
    required = [p for p in parameters if p.get("required")]
    optional = [p for p in parameters if not p.get("required")]
    signature = ["self", *(["*"] if parameters or "requestBody" in operation else [])]
    signature += [f"{argument(p['name'])}: {annotation(p.get('schema', {}))}" for p in required]
    content = operation.get("requestBody", {}).get("content", {})
    is_json = body is not None
    needs_body = bool(operation.get("requestBody", {}).get("required"))
    if content:
        kind = f"types.{body}" if is_json else "bytes"
        signature.append(f"body: {kind}" if needs_body else f"body: {kind} | None = None")
    signature += [f"{argument(p['name'])}: {annotation(p.get('schema', {}))} | None = None" for p in optional]
    if content and not is_json:
        signature.append(f"content_type: str = {sorted(content)[0]!r}")
    if verb == "post":
        signature.append("idempotency_key: str | None = None")
    query = ", ".join(f"{p['name']!r}: {argument(p['name'])}" for p in parameters if p["in"] == "query")
    template = re.sub(r"\{(\w+)\}", lambda m: "{_quoted(" + argument(m[1]) + ")}", path)
    given = [repr(verb.upper()), f"f{template!r}" if "{" in path else repr(template), "{" + query + "}"]
    if content:
        given.append("json=body" if is_json else "content=body, content_type=content_type")
    if verb == "post":
        given.append("idempotency_key=idempotency_key")
    returned = f"types.{answer}" if answer else "Content"
    call = f"self._request({', '.join(given)})"
    lines = [f"    def {snake(operation['operationId'])}({', '.join(signature)}) -> {returned}:"]
    summary = str(operation.get("summary", "")).strip().replace("\\", "\\\\").replace('"""', "'''")
    lines.append(f'        """{summary}."""')
    lines.append(f"        return cast(types.{answer}, {call}.json())" if answer else f"        return {call}")
    if answer and has_csv:
        table = f"self._request({', '.join([*given, 'accept=' + repr(CSV)])})"
        lines += ["", f"    def {snake(operation['operationId'])}_csv({', '.join(signature)}) -> Content:"]
        lines += [f'        """{summary}, as a table in CSV."""', f"        return {table}"]
    return "\n".join(lines)


def awaited(text: str) -> str:
    """The same operations for asyncio."""
    text = re.sub(r"\bTransport\b", "AsyncTransport", text).replace("class Operations", "class AsyncOperations")
    text = text.replace("    def ", "    async def ").replace("return self._request(", "return await self._request(")
    return re.sub(r"(self\._request\(.*\))\.json\(\)\)$", r"(await \1).json())", text, flags=re.MULTILINE)


def main(source: Path, folder: Path) -> None:
    document = opened(json.loads(source.read_text()))
    methods: list[str] = []
    for path, item in document["paths"].items():
        for verb in METHODS:
            operation = item.get(verb)
            if operation is None:
                continue
            name = upper(operation["operationId"])
            body = lift(document, operation.get("requestBody", {}).get("content"), f"{name}Body")
            success = next((one for status, one in operation["responses"].items() if status.startswith("2")), {})
            content = success.get("content")
            answer = lift(document, content, f"{name}Answer")
            methods.append(method(operation, verb, path, (body, answer), CSV in (content or {})))
    with tempfile.TemporaryDirectory() as temporary:
        lifted = Path(temporary) / "openapi.json"
        lifted.write_text(json.dumps(document))
        command = [sys.executable, "-m", "datamodel_code_generator", "--input", str(lifted), "--input-file-type", "openapi"]
        command += ["--output-model-type", "typing.TypedDict", "--output", str(folder / "types.py"), "--target-python-version", "3.10"]
        command += ["--use-union-operator", "--enum-field-as-literal", "all", "--use-schema-description", "--openapi-scopes", "schemas"]
        command += ["--disable-timestamp", "--formatters", "builtin"]
        subprocess.run(command, check=True)
    head = '''"""A method for each operation of the service. Written by generate.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from . import types
from .transport import Content, Transport, quoted as _quoted


class Operations(Transport):
'''
    text = head + "\n\n".join(methods) + "\n"
    (folder / "operations.py").write_text(text)
    (folder / "async_operations.py").write_text(awaited(text))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "../../assets/openapi.test.json"), Path(sys.argv[2] if len(sys.argv) > 2 else HERE / "src/fiscal_data"))
