#include "python/core/catalog.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <tenon/host/operator_info.hpp>

#include "python/core/attributes.hpp"

namespace tenon::python {
namespace {

template <class T>
nb::object to_python(const T& value);

template <class T>
nb::object list_of(const T& values) {
  nb::list items;
  for (const auto& value : values) items.append(to_python(value));
  return items;
}

nb::object names_of(DTypeMask mask) {
  nb::list names;
  for (int i = 0; i < dtype_count; ++i)
    if (allows(mask, static_cast<DType>(i))) names.append(name_of(static_cast<DType>(i)));
  return names;
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Uses the field lists of the public headers.
template <class T>
nb::object to_python(const T& value) {
  if constexpr (std::is_same_v<T, DTypeMask>) {
    return names_of(value);
  } else if constexpr (std::is_same_v<T, ParamKind>) {
    return nb::cast(std::string(kind_name(value)));
  } else if constexpr (std::is_same_v<T, DType>) {
    return nb::cast(std::string(name_of(value)));
  } else if constexpr (std::is_same_v<T, AttributeValue>) {
    return attribute_to_python(value);
  } else if constexpr (IsOptional<T>::value) {
    return value ? to_python(*value) : nb::none();
  } else if constexpr (IsVector<T>::value) {
    return list_of(value);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return nb::cast(value);
  } else {
    nb::dict fields;
    T::each_field(value, [&](const char* key, const auto& field, auto&&...) {
      fields[key] = to_python(field);
    });
    return fields;
  }
}

nb::object texts_of(const std::vector<std::string>& texts) {
  return list_of(texts);
}

}  // namespace

std::vector<std::string> operator_names(Host& host) {
  const auto catalog = without_gil([&] { return host.catalog(); });
  std::vector<std::string> names;
  for (const auto& op : catalog.operators()) names.push_back(catalog.shortest_name(op));
  return names;
}

nb::dict describe_operator(Host& host, const std::string& name) {
  const auto catalog = without_gil([&] { return host.catalog(); });
  const auto* op = catalog.find(name);
  if (op == nullptr) {
    const auto why = catalog.why_missing(name);
    throw Failure(
        FailureKind::plugin,
        why.empty() ? "there is no operator '" + name + "'" + catalog.not_searched_text() : why,
        why.empty() ? did_you_mean(catalog.near(name), "dir(tenon.ops) lists the operators")
                    : catalog.next_step(name));
  }
  nb::dict all = nb::cast<nb::dict>(to_python(op->info));
  all["full_name"] = op->full_name();
  all["shortest_name"] = catalog.shortest_name(*op);
  all["devices"] = texts_of(op->devices);
  all["plugin"] = nb::none();
  all["path"] = nb::none();
  all["plugin_version"] = "";
  if (op->file >= 0) {
    const auto& file = catalog.files()[static_cast<std::size_t>(op->file)];
    all["plugin"] = file.name;
    all["path"] = file.path.string();
    all["plugin_version"] = file.version;
  }
  all["read_by_backward"] = texts_of(op->info.read_by_backward());
  return all;
}

nb::list describe_files(Host& host) {
  const auto catalog = without_gil([&] { return host.catalog(); });
  nb::list files;
  for (const auto& file : catalog.files()) {
    nb::dict one;
    one["path"] = file.path.string();
    one["status"] = std::string(name_of(file.status));
    one["usable"] = file.usable();
    one["reason"] = file.reason;
    one["hint"] = next_step(file);
    one["name"] = file.name;
    one["version"] = file.version;
    one["operators"] = texts_of(file.operators);
    files.append(one);
  }
  return files;
}

}  // namespace tenon::python
