# onnx_forms.py BUILD: compares the ONNX forms of the bundled operators with the schemas of the
# package `onnx`, version by version: every attribute of a schema is mapped, every attribute in a
# form exists, defaults match ONNX's, and required inputs and outputs are mapped. --missing also
# lists versions that no form covers.
import json
import pathlib
import subprocess
import sys

try:
    import onnx.defs
    import onnx.helper
except ImportError:
    print("skipped: the Python package onnx is missing")
    sys.exit(77)

build = pathlib.Path(sys.argv[1])
listed = subprocess.run(
    [build / "tenon", "--plugins", build / "plugins", "list", "--json"],
    check=True,
    capture_output=True,
)
operators = json.loads(listed.stdout)["operators"]
schemas, faults, covered = {}, [], set()
for schema in onnx.defs.get_all_schemas_with_history():
    schemas.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema


def default_of(attribute):
    value = attribute.default_value
    if value.type == onnx.AttributeProto.UNDEFINED:
        return None
    value = onnx.helper.get_attribute_value(value)
    if isinstance(value, list):
        return [each.decode() if isinstance(each, bytes) else each for each in value]
    return value.decode() if isinstance(value, bytes) else value


def same(left, right):
    number = [
        float(value) if isinstance(value, (int, float)) or value in ("inf", "-inf") else value
        for value in (left, right)
    ]
    if all(isinstance(value, float) for value in number):
        return number[0] == number[1] or abs(number[0] - number[1]) <= 1e-7 * abs(number[1])
    return left == right or [left] == right or left == [right]


def without_it(form, mapped, params):
    """ONNX's value if the attribute is absent."""
    if mapped["absent"] is not None:
        return mapped["absent"]
    default = params[mapped["param"]]["default"]
    for value in form["values"]:
        if value["param"] == mapped["param"] and value["ours"] == default:
            return value["theirs"]
    return default


def check(operator, form, schema, fault):
    params = {param["name"]: param for param in operator["params"]}
    mapped = {attribute["name"]: attribute for attribute in form["attributes"]}
    only = {entry["name"]: entry["values"] for entry in form["only"]}
    halves = {entry["name"] for entry in form["halves"] if entry["name"]}
    if schema.deprecated:
        fault("is deprecated")
    for name, attribute in schema.attributes.items():
        default = default_of(attribute)
        if name in mapped:
            taken = without_it(form, mapped[name], params)
            if default is not None and not same(taken, default):
                fault(f"if {name} is absent, ONNX uses {default} but Tenon uses {taken}")
        elif name in only:
            if default is not None and not any(same(default, value) for value in only[name]):
                fault(f"the default of {name} is {default}, which is not among {only[name]}")
        elif name not in halves and name not in form["ignored"]:
            fault(f"has the attribute {name}, which is not mapped")
    places = {i for i, name in enumerate(form["inputs"]) if name} | {
        entry["place"] for entry in form["inputs_as"]
    }
    places |= {entry["place"] for entry in form["halves"] if entry["place"] is not None}
    needed = onnx.defs.OpSchema.FormalParameterOption.Optional
    for i, given in enumerate(schema.inputs):
        if given.option != needed and i not in places:
            fault(f"needs the input {given.name}, which is not mapped")
    for i, given in enumerate(schema.outputs):
        if given.option != needed and (i >= len(form["outputs"]) or not form["outputs"][i]):
            fault(f"has the output {given.name}, which is not mapped")
    return set(schema.attributes), schema.max_input, schema.max_output


for operator in operators:
    for form in operator["onnx"]:
        versions = schemas.get((form["domain"], form["type"]), {})
        where = f"{operator['name']}: {form['type']}"
        last = form["until"] or onnx.defs.onnx_opset_version()
        names, inputs, outputs = set(), 0, 0
        if not versions or form["since"] < min(versions):
            faults.append(f"{where} does not exist in version {form['since']}")
        for since, schema in versions.items():
            until = min((other for other in versions if other > since), default=10**6) - 1
            if since <= last and until >= form["since"]:
                covered.add((form["type"], since))
                found = check(
                    operator, form, schema, lambda text: faults.append(f"{where} {since} {text}")
                )
                names, inputs, outputs = (
                    names | found[0],
                    max(inputs, found[1]),
                    max(outputs, found[2]),
                )
        named = [
            entry["name"]
            for entry in form["attributes"] + form["only"] + form["halves"]
            if entry["name"]
        ] + form["ignored"]
        faults += [
            f"{where} since {form['since']} names {name}, which no version has"
            for name in named
            if name not in names
        ]
        if len(form["inputs"]) > inputs or len(form["outputs"]) > outputs:
            faults.append(f"{where} since {form['since']} has more inputs or outputs than ONNX")

types = {type for type, _ in covered}
if "--missing" in sys.argv:
    for (domain, type), versions in sorted(schemas.items()):
        missing = [version for version in versions if (type, version) not in covered]
        if domain == "" and type in types and missing:
            print(f"{type}: no form for version {', '.join(map(str, missing))}")
print(
    "\n".join(faults)
    if faults
    else f"{len(types)} operators of ONNX in {len(covered)} versions agree with their schemas"
)
sys.exit(1 if faults or len(types) < 50 else 0)
