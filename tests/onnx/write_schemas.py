"""Writes schemas.txt: inputs, outputs, attributes and element types of the ONNX standard's
operators, for opsets 13 and later.

    write_schemas.py > tests/onnx/schemas.txt

A line describes an operator from one opset on: name, opset, minimum and maximum numbers of inputs
and outputs, inputs and outputs with their type variables, the variables with their element types,
and attributes with their kinds; a required attribute ends with '!'. Needs the package onnx, whose
schemas are the standard's.
"""

import onnx

CODES = {
    "bool": "boolean",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float": "f32",
    "double": "f64",
    "complex64": "c64",
    "complex128": "c128",
    "float8e4m3fn": "f8e4m3fn",
    "float8e4m3fnuz": "f8e4m3fnuz",
    "float8e5m2": "f8e5m2",
    "float8e5m2fnuz": "f8e5m2fnuz",
    "float8e8m0": "f8e8m0fnu",
    "float4e2m1": "f4e2m1fn",
    "uint4": "u4",
    "int4": "i4",
    "uint2": "u2",
    "int2": "i2",
}
NO_TENSORS = {  # operators on sequences, optional values and strings
    "ConcatFromSequence",
    "ImageDecoder",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "RegexFullMatch",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "SplitToSequence",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TfIdfVectorizer",
}
MANY = 2**31 - 1


def codes(types: list[str]) -> str:
    """The tensor element types that Tenon supports; '-': none."""
    names = {text[len("tensor(") : -1] for text in types if text.startswith("tensor(")}
    return ",".join(code for name, code in CODES.items() if name in names) or "-"


def variables(schema: onnx.defs.OpSchema, formals: list) -> str:
    """Inputs or outputs; a type without a variable stands for itself.

    '*': any number of further ones like the last, which may differ in type.
    """
    texts = []
    known = {constraint.type_param_str for constraint in schema.type_constraints}
    for formal in formals:
        text = formal.type_str if formal.type_str in known else "=" + codes([formal.type_str])
        if formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
            text += "*" if formal.is_homogeneous else "**"
        texts.append(text)
    return ",".join(texts) or "-"


def meaning(schema: onnx.defs.OpSchema) -> str:
    counts = [schema.min_input, schema.max_input, schema.min_output, schema.max_output]
    attributes = [
        f"{name}:{attribute.type.name.lower()}{'!' if attribute.required else ''}"
        for name, attribute in sorted(schema.attributes.items())
    ]
    return " ".join(
        [
            *("*" if count == MANY else str(count) for count in counts),
            variables(schema, schema.inputs),
            variables(schema, schema.outputs),
            ";".join(
                f"{one.type_param_str}={codes(one.allowed_type_strs)}"
                for one in schema.type_constraints
            )
            or "-",
            *attributes,
        ]
    )


def main() -> None:
    newest: dict[str, int] = {}
    schemas = [one for one in onnx.defs.get_all_schemas_with_history() if one.domain == ""]
    for schema in schemas:
        if schema.since_version <= 13:
            newest[schema.name] = max(newest.get(schema.name, 0), schema.since_version)
    last = ("", "")
    for schema in sorted(schemas, key=lambda one: (one.name, one.since_version)):
        if schema.since_version < newest.get(schema.name, 0) or schema.name in NO_TENSORS:
            continue
        this = (schema.name, "deprecated" if schema.deprecated else meaning(schema))
        if this != last:  # the change may only concern element types that Tenon lacks
            print(schema.name, schema.since_version, this[1])
        last = this


if __name__ == "__main__":
    main()
