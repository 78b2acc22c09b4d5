#include <fmt/format.h>

#include <cstddef>
#include <tenon/host/arrays.hpp>
#include <tenon/host/failure.hpp>

#include "file/array/npy_header.hpp"
#include "io/atomic_file.hpp"
#include "io/counted.hpp"

namespace tenon {

struct NpyWriter::Impl {
  std::filesystem::path path;
  DType dtype;
  Shape shape;
  AtomicFile file;
  std::int64_t written = 0;  // rows

  void refuse(const std::string& what) const {
    throw Failure(FailureKind::usage, fmt::format("cannot write {}: {}", path.string(), what));
  }
};

NpyWriter::NpyWriter(const std::filesystem::path& path, DType dtype, const Shape& shape)
    : impl_(new Impl{path, dtype, shape, AtomicFile(path)}) {
  if (shape.rank() < 1) impl_->refuse("a scalar has no rows");
  impl_->file.write(npy_header(dtype, shape));
}
NpyWriter::~NpyWriter() = default;
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;
NpyWriter& NpyWriter::operator=(NpyWriter&&) noexcept = default;

void NpyWriter::write(const Tensor& rows) {
  auto& to = *impl_;
  if (rows.storage() != Storage::dense)
    to.refuse(fmt::format("a .npy file holds a dense array, but the rows are {}",
                          name_of(rows.storage())));
  auto fits = to.shape;
  if (rows.shape().rank() > 0) fits.set(0, rows.shape()[0]);
  if (rows.dtype() != to.dtype || rows.shape() != fits)
    to.refuse(fmt::format("its rows are {} {} but {} {} was written", name_of(to.dtype),
                          to_string(to.shape), name_of(rows.dtype()), to_string(rows.shape())));
  if (rows.shape()[0] > to.shape[0] - to.written)
    to.refuse(fmt::format("it has {} but {} were written", counted(to.shape[0], "row"),
                          to.written + rows.shape()[0]));
  const auto here = rows.to("cpu").make_contiguous();
  to.file.write(
      {static_cast<const std::byte*>(here.data()), static_cast<std::size_t>(here.bytes())});
  to.written += rows.shape()[0];
}

void NpyWriter::commit() {
  if (impl_->written < impl_->shape[0])
    impl_->refuse(fmt::format("it has {} but {} were written", counted(impl_->shape[0], "row"),
                              impl_->written));
  impl_->file.commit();
}

}  // namespace tenon
