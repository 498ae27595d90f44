// PyTorch checkpoints. Zip container: <name>/data.pkl, and a member <name>/data/<key> a storage.
// Legacy container: five pickles (magic, protocol, system, the object, the keys of the storages),
// then the storages in the order of the keys. NumPy's: a zip archive of .npy files, or one pickle
// of a dictionary of arrays.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "runtime/import/import.h"
#include "runtime/import/pickle.h"
#include "runtime/import/zip.h"
#include "runtime/tensor_bytes.h"

namespace hub {
namespace {

using Found = std::map<std::string, std::span<const std::byte>,
                       std::less<>>;  ///< bytes of a storage by its key

class Storages {
 public:
  Storages(const MappedFile& file, Found found)
      : owner_(file.owner()), found_(std::move(found)), most_gathered_(2 * file.size()) {}

  Tensor tensor(const PyTensor& t) {
    const Tensor& storage = load(*t.storage);
    const Shape shape{std::span<const int64_t>(t.size)};
    if (t.strides.size() != t.size.size())
      fail(Code::refused, "it has ", t.size.size(), " dimensions and ", t.strides.size(),
           " strides");
    const int64_t numel = shape.numel();
    if (numel == 0) return Tensor(storage.dtype(), shape);
    if (numel > storage.numel())
      fail(Code::unsupported, "its ", numel, " elements share ", storage.numel(), " stored ones");
    check_inside(t, storage.numel());
    const size_t size = size_of(storage.dtype());
    const auto* base =
        static_cast<const std::byte*>(storage.raw()) + static_cast<size_t>(t.offset) * size;
    if (contiguous(t)) return Tensor(storage.dtype(), shape, storage.owner(), base);
    // Each is stored once; files that copy one storage over and over are made for that.
    gathered_ += static_cast<size_t>(numel) * size;
    if (gathered_ > most_gathered_)
      fail(Code::refused, "it and the tensors before it would be copied to ", gathered_,
           " bytes out of a file of ", most_gathered_ / 2);
    return gather(t, storage.dtype(), shape, base, size);
  }

 private:
  /// The whole storage as one dimension: a view where the file aligns it, otherwise one copy for
  /// all its tensors.
  const Tensor& load(const PyStorage& s) {
    const auto it = loaded_.find(s.key);
    if (it != loaded_.end()) {
      if (it->second.dtype() != s.dtype || it->second.numel() != s.numel)
        fail(Code::refused, "storage '", printable(s.key), "' is described in two ways");
      return it->second;
    }
    const auto bytes = found_.find(s.key);
    if (bytes == found_.end()) fail(Code::refused, "storage '", printable(s.key), "' is missing");
    return within(concat("storage '", printable(s.key), "'"), [&]() -> const Tensor& {
      return loaded_.emplace(s.key, tensor_from_bytes({s.dtype, {s.numel}}, bytes->second, owner_))
          .first->second;
    });
  }

  static void check_inside(const PyTensor& t, int64_t stored) {
    int64_t last = t.offset;
    bool bad = t.offset < 0;
    for (size_t i = 0; i < t.size.size(); ++i) {
      int64_t step = 0;
      bad = bad || t.strides[i] < 0 || __builtin_mul_overflow(t.size[i] - 1, t.strides[i], &step) ||
            __builtin_add_overflow(last, step, &last);
    }
    if (bad || last >= stored)
      fail(Code::refused, "it reaches past the ", stored, " elements of its storage");
  }

  static bool contiguous(const PyTensor& t) {
    int64_t expected = 1;
    for (size_t i = t.size.size(); i-- > 0;) {
      if (t.size[i] != 1 && t.strides[i] != expected) return false;
      expected *= t.size[i];
    }
    return true;
  }

  static Tensor gather(const PyTensor& t, DType dtype, const Shape& shape, const std::byte* base,
                       size_t size) {
    Tensor out(dtype, shape);
    auto* to = static_cast<std::byte*>(out.raw());
    std::vector<int64_t> index(t.size.size());
    for (int64_t n = shape.numel(); n > 0; --n, to += size) {
      int64_t from = 0;
      for (size_t d = 0; d < index.size(); ++d) from += index[d] * t.strides[d];
      std::memcpy(to, base + static_cast<size_t>(from) * size, size);
      for (size_t d = index.size(); d-- > 0 && ++index[d] == t.size[d];) index[d] = 0;
    }
    return out;
  }

  std::shared_ptr<const void> owner_;
  Found found_;
  size_t gathered_ = 0, most_gathered_;
  std::map<std::string, Tensor, std::less<>> loaded_;
};

const std::string* text(const PyValue& value) {
  const auto* t = std::get_if<const std::string*>(&value);
  return t ? *t : nullptr;
}

const PyDict* entry_dict(const PyDict& dict, std::string_view key) {
  for (const auto& [k, v] : dict.items)
    if (const auto* t = text(k); t && *t == key)
      if (const auto* d = std::get_if<PyDict*>(&v)) return *d;
  return nullptr;
}

NamedTensors collect(const PyValue& value, Storages storages) {
  const auto* top = std::get_if<PyDict*>(&value);
  if (!top) fail(Code::refused, "it holds no dictionary; a state_dict is wanted");
  const PyDict* dict = *top;
  for (std::string_view key : {"state_dict", "model", "model_state"})
    if (const PyDict* inner = entry_dict(**top, key)) {
      dict = inner;
      break;
    }
  NamedTensors tensors;
  for (const auto& [k, v] : dict->items) {
    const auto* t = std::get_if<const PyTensor*>(&v);
    const std::string* name = text(k);
    if (!t || !name) continue;
    within(concat("tensor '", printable(*name), "'"),
           [&] { tensors.insert_or_assign(*name, storages.tensor(**t)); });
  }
  if (tensors.empty())
    fail(Code::refused, "its dictionary holds no tensors; a state_dict is wanted");
  return tensors;
}

NamedTensors read_npz(const MappedFile& file, const Found& members) {
  constexpr std::string_view ending = ".npy";
  NamedTensors tensors;
  for (const auto& [name, bytes] : members) {
    if (!name.ends_with(ending)) continue;
    within(concat("array '", printable(name), "'"), [&, &name = name, &bytes = bytes] {
      tensors.emplace(name.substr(0, name.size() - ending.size()), read_npy(bytes, file.owner()));
    });
  }
  return tensors;
}

/// Empty when it is no dictionary with arrays of NumPy.
NamedTensors pickled_arrays(const PyValue& value) {
  NamedTensors tensors;
  std::map<const std::string*, std::shared_ptr<const std::string>> owners;  // arrays may share
  const auto* dict = std::get_if<PyDict*>(&value);
  if (!dict) return tensors;
  for (const auto& [key, item] : (*dict)->items) {
    const auto* array = std::get_if<PyArray*>(&item);
    const std::string* name = text(key);
    if (!array || !name) continue;
    const PyArray& a = **array;
    within(concat("array '", printable(*name), "'"), [&] {
      if (a.is_type || !a.bytes) fail(Code::refused, "it holds no numbers");
      const Shape shape{std::span<const int64_t>(a.size)};
      auto& owner = owners[a.bytes];
      if (!owner) owner = std::make_shared<const std::string>(*a.bytes);
      const auto bytes = std::as_bytes(std::span(owner->data(), owner->size()));
      tensors.insert_or_assign(*name, tensor_from_bytes({a.dtype, shape}, bytes, owner));
    });
  }
  return tensors;
}

NamedTensors read_zip(const MappedFile& file) {
  const Found members = read_stored_zip(file);
  constexpr std::string_view pickle_name = "/data.pkl";
  const auto it =
      std::ranges::find_if(members, [&](const auto& m) { return m.first.ends_with(pickle_name); });
  if (it == members.end()) {
    NamedTensors arrays = read_npz(file, members);
    if (arrays.empty()) fail(Code::refused, "the zip archive has neither data.pkl nor .npy files");
    return arrays;
  }
  const std::string prefix = it->first.substr(0, it->first.size() - pickle_name.size() + 1);
  if (members.contains(prefix + "constants.pkl"))
    fail(Code::unsupported, "it is a TorchScript program; save its state_dict instead");
  if (const auto order = members.find(prefix + "byteorder"); order != members.end())
    if (std::string_view(reinterpret_cast<const char*>(order->second.data()),
                         order->second.size()) != "little")
      fail(Code::unsupported, "its numbers are big-endian");
  Found storages;
  const std::string data = prefix + "data/";
  for (const auto& [name, bytes] : members)
    if (name.starts_with(data)) storages.emplace(name.substr(data.size()), bytes);
  size_t at = 0;
  const Pickle pickle(it->second, at);
  return collect(pickle.value(), Storages(file, std::move(storages)));
}

void check_system(const PyValue& value) {
  const auto* dict = std::get_if<PyDict*>(&value);
  if (!dict) fail(Code::refused, "the description of the writing system is missing");
  for (const auto& [k, v] : (*dict)->items)
    if (const auto* name = text(k); name && *name == "little_endian")
      if (const auto* little = std::get_if<bool>(&v); !little || !*little)
        fail(Code::unsupported, "its numbers are big-endian");
}

NamedTensors read_legacy(const MappedFile& file) {
  const std::string magic_number("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
  size_t at = 0;
  const Pickle magic(file.bytes(), at);
  if (NamedTensors arrays = pickled_arrays(magic.value()); !arrays.empty()) {
    if (at != file.size()) fail(Code::refused, "the file goes on behind its pickle");
    return arrays;
  }
  if (const auto* m = text(magic.value()); !m || *m != magic_number)
    fail(Code::refused, "it is a pickle, but no PyTorch checkpoint");
  const Pickle protocol(file.bytes(), at);
  if (const auto* p = std::get_if<int64_t>(&protocol.value()); !p || *p != 1001)
    fail(Code::refused, "its protocol is not 1001");
  const Pickle system(file.bytes(), at);
  check_system(system.value());
  const Pickle object(file.bytes(), at);
  const Pickle keys(file.bytes(), at);
  std::map<std::string, PyStorage, std::less<>> known;
  for (const PyStorage& s : object.storages()) known.emplace(s.key, s);
  const auto* list = std::get_if<PyList*>(&keys.value());
  if (!list) fail(Code::refused, "the list of storages is missing");
  Found storages;
  for (const PyValue& item : (*list)->items) {
    const std::string* key = text(item);
    const auto it = key ? known.find(*key) : known.end();
    if (it == known.end()) fail(Code::refused, "a storage that no tensor refers to");
    int64_t numel = 0;
    if (file.size() - at < sizeof numel) fail(Code::refused, "the file is cut off at its storages");
    std::memcpy(&numel, file.bytes().data() + at, sizeof numel);
    at += sizeof numel;
    if (numel != it->second.numel)
      fail(Code::refused, "storage '", printable(*key), "' has ", numel, " elements, ",
           it->second.numel, " are wanted");
    const size_t size = bytes_of({it->second.dtype, {numel}});
    if (size > file.size() - at)
      fail(Code::refused, "the file is cut off in storage '", printable(*key), "'");
    if (!storages.emplace(*key, file.bytes().subspan(at, size)).second)
      fail(Code::refused, "storage '", printable(*key), "' is there twice");
    at += size;
  }
  if (at != file.size())
    fail(Code::refused, "its storages end at byte ", at, ", the file goes on to ", file.size());
  return collect(object.value(), Storages(file, std::move(storages)));
}

}  // namespace

NamedTensors read_checkpoint(const MappedFile& file) {
  return within("PyTorch checkpoint", [&] {
    if (file.text().starts_with("PK")) return read_zip(file);
    if (file.text().starts_with('\x80')) return read_legacy(file);
    fail(Code::refused, "it is neither a zip archive nor a pickle");
  });
}

}  // namespace hub
