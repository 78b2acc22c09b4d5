# called_module.py MODULE: imports a module that `tenon typing` wrote, with a package `tenon` that
# notes what it is asked for, calls the functions of the plugin speaks_markup, and prints signatures
# and notes, one a line.
import importlib.util
import inspect
import sys
import types

asked = []


class Operators:
    def __getitem__(self, name):
        return lambda *inputs, **params: asked.append(f"{name} {inputs} {params}")


package = types.ModuleType("tenon")
package.ops = Operators()
package.add_plugins = lambda path: asked.append(
    f"add {path.name} {path.parent.is_absolute() or path.parent}"
)
sys.modules["tenon"] = package
sys.dont_write_bytecode = True

spec = importlib.util.spec_from_file_location("made", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.__all__)
for parameter in inspect.signature(module.lambda_).parameters.values():
    value = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    print(f"{parameter.kind.name.lower()} {parameter.name}: {parameter.annotation}{value}")
print(repr(inspect.getdoc(module.lambda_).splitlines()[0]))
module.lambda_(1, in_=0.5, name="node")
module.tuple(1, 2, x1=[3], device="cuda")
print("\n".join(asked))
