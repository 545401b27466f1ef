"""The part of JSON Schema that the OpenAPI document uses."""

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def check(schema, value, schemas, where):
    """Returns the first fault of a value in one line, or None."""
    if "$ref" in schema:
        return check(schemas[schema["$ref"].rsplit("/", 1)[1]], value, schemas, where)
    for kind in ("anyOf", "oneOf"):
        if kind in schema and all(check(one, value, schemas, where) for one in schema[kind]):
            return f"{where} has none of the allowed forms"
    if "const" in schema and value != schema["const"]:
        return f"{where} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{where} is not one of {', '.join(schema['enum'])}"
    kind = schema.get("type")
    if kind == "integer":
        return check_number(schema, value, where)
    if kind in TYPES and not isinstance(value, TYPES[kind]):
        return f"{where} is not of type {kind}"
    checks = {"string": check_text, "array": check_list, "object": check_members}
    return checks[kind](schema, value, schemas, where) if kind in checks else None


def check_number(schema, value, where):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value % 1 != 0:
        return f"{where} is not a whole number"
    if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{where} is out of bounds: {value}"
    return None


def check_text(schema, value, _schemas, where):
    try:
        value.encode()
    except UnicodeEncodeError:
        return f"{where} is not valid text"
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        return f"{where} is too short or too long"
    # Python's $ would also match before a newline at the end.
    if "pattern" in schema and not re.search(schema["pattern"].replace("$", r"\Z"), value):
        return f"{where} does not match {schema['pattern']}"
    return None


def check_list(schema, value, schemas, where):
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return f"{where} has too few or too many entries"
    if schema.get("uniqueItems") and any(one in value[:index] for index, one in enumerate(value)):
        return f"{where} has an entry twice"
    faults = (check(schema.get("items", {}), one, schemas, f"{where}[{i}]") for i, one in enumerate(value))
    return next((fault for fault in faults if fault), None)


def check_members(schema, value, schemas, where):
    known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name in schema.get("required", []):
        if name not in value:
            return f"{where} lacks the member {name!r}"
    for name, member in value.items():
        fault = check(schema.get("propertyNames", {}), name, schemas, f"a name in {where}")
        if name not in known and more is False:
            fault = f"{where} has the unknown member {name!r}"
        fault = fault or check(known.get(name, more or {}), member, schemas, f"{where}.{name}")
        if fault:
            return fault
    return None
