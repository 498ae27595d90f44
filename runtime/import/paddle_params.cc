#include "runtime/import/paddle_params.h"

#include <climits>
#include <cstring>

#include "base/error.h"
#include "runtime/import/dtype.h"
#include "runtime/tensor_bytes.h"

namespace hub {

Spec paddle_spec(const fluid::TensorDesc& desc, std::string_view what) {
  if (!desc.has_data_type()) fail(Code::refused, what, " has no data type");
  Spec spec{paddle_dtype(desc.data_type(), what), {}};
  for (int64_t d : desc.dims()) spec.shape.push_back(d < 0 ? -1 : d);
  return spec;
}

std::span<const std::byte> PaddleRecords::take(uint64_t size, std::string_view what) {
  if (size > file_.size() - at_)
    fail(Code::refused, "at byte ", at_, ": ", what, " needs ", size, " bytes, the file has ",
         file_.size() - at_, " more");
  const auto bytes = file_.bytes().subspan(at_, size);
  at_ += size;
  return bytes;
}

template <class T>
T PaddleRecords::number(std::string_view what) {
  T value;
  std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
  return value;
}

Tensor PaddleRecords::next(std::string_view name, const Spec& declared) {
  return within(concat("parameter '", name, "'"), [&] {
    const auto version = [&](std::string_view what) {
      if (const auto v = number<uint32_t>(what); v != 0)
        fail(Code::refused, "at byte ", at_ - 4, ": ", what, " is ", v,
             ", 0 is wanted; the parameters may not belong to this program");
    };
    version("the version of the LoD tensor");
    for (auto levels = number<uint64_t>("the number of LoD levels"); levels > 0; --levels)
      take(number<uint64_t>("the size of a LoD level"), "a LoD level");
    version("the version of the tensor");
    const auto size = number<int32_t>("the size of the description");
    if (size < 0)
      fail(Code::refused, "at byte ", at_ - 4, ": the size of the description is ", size);
    const auto bytes = take(static_cast<uint64_t>(size), "the description");
    fluid::TensorDesc desc;
    if (!desc.ParseFromArray(bytes.data(), size))
      fail(Code::refused, "at byte ", at_ - bytes.size(), ": its description is damaged");
    const Spec spec = paddle_spec(desc, "it");
    if (spec != declared)
      fail(Code::refused, "at byte ", at_, ": the file holds ", spec.str(),
           ", the program declares ", declared.str());
    return tensor_from_bytes(spec, take(bytes_of(spec), "its data"), file_.owner());
  });
}

void PaddleRecords::finish() const {
  if (at_ != file_.size())
    fail(Code::refused, "the program's parameters end at byte ", at_, ", the file goes on to ",
         file_.size());
}

}  // namespace hub
