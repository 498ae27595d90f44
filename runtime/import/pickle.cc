#include "runtime/import/pickle.h"

#include <bit>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"

namespace hub {

enum class Callee {
  ordered_dict,
  size,
  tensor,
  parameter,
  storage,
  array,         ///< an empty array, which `build` fills
  array_type,    ///< ndarray, an argument of the former
  element_type,  ///< dtype
};
struct PyGlobal {
  std::string_view name;
  Callee callee;
  DType dtype = DType::none;  ///< of a storage
};

namespace {

constexpr PyGlobal globals[] = {
    {"collections.OrderedDict", Callee::ordered_dict},
    {"torch.Size", Callee::size},
    {"torch._utils._rebuild_tensor_v2", Callee::tensor},
    {"torch._utils._rebuild_parameter", Callee::parameter},
    {"torch.FloatStorage", Callee::storage, DType::f32},
    {"torch.DoubleStorage", Callee::storage, DType::f64},
    {"torch.HalfStorage", Callee::storage, DType::f16},
    {"torch.BFloat16Storage", Callee::storage, DType::bf16},
    {"torch.LongStorage", Callee::storage, DType::i64},
    {"torch.IntStorage", Callee::storage, DType::i32},
    {"torch.ShortStorage", Callee::storage, DType::i16},
    {"torch.CharStorage", Callee::storage, DType::i8},
    {"torch.ByteStorage", Callee::storage, DType::u8},
    {"torch.BoolStorage", Callee::storage, DType::boolean},
    {"numpy.core.multiarray._reconstruct", Callee::array},
    {"numpy._core.multiarray._reconstruct", Callee::array},
    {"numpy.ndarray", Callee::array_type},
    {"numpy.dtype", Callee::element_type},
};

struct ElementType {
  std::string_view name;
  DType dtype;
};
constexpr ElementType element_types[] = {{"f4", DType::f32}, {"f8", DType::f64}, {"f2", DType::f16},
                                         {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32},
                                         {"i8", DType::i64}, {"u1", DType::u8},  {"u2", DType::u16},
                                         {"u4", DType::u32}, {"u8", DType::u64}};

constexpr size_t most_values = size_t{1} << 22;  // far more than any state_dict, and some 100 MB
constexpr size_t longest_name = 256, most_dims = 64;

enum Op : uint8_t {
  mark = '(',
  stop = '.',
  binbytes = 'B',
  short_binbytes = 'C',
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  none = 'N',
  binpersid = 'Q',
  reduce = 'R',
  binstring = 'T',
  short_binstring = 'U',
  binunicode = 'X',
  append = 'a',
  build = 'b',
  global = 'c',
  dict = 'd',
  empty_dict = '}',
  appends = 'e',
  binget = 'h',
  long_binget = 'j',
  empty_list = ']',
  list = 'l',
  binput = 'q',
  long_binput = 'r',
  setitem = 's',
  tuple = 't',
  empty_tuple = ')',
  setitems = 'u',
  binfloat = 'G',
  proto = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a
};

}  // namespace

class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, std::span<const std::byte> bytes, size_t& at)
      : out_(pickle), bytes_(bytes), at_(at) {}

  void run() {
    while (step()) {
    }
    out_.value_ = pop();
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    fail(Code::refused, "pickle, byte ", op_at_, ": ", why);
  }

  // ---- the bytes ----
  std::string_view take(size_t size) {
    if (size > bytes_.size() - at_) refuse("it is cut off");
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return text;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_,
                                bytes_.size() - at_);
    const size_t end = rest.substr(0, longest_name).find('\n');
    if (end == std::string_view::npos) refuse("a name without an end");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // ---- the stack ----
  void spend(size_t values) {
    spent_ += values;
    if (spent_ > most_values) refuse("it holds more values than a state_dict can have");
  }
  void push(PyValue value) {
    spend(1);
    stack_.push_back(value);
  }
  PyValue pop() {
    if (stack_.empty() || std::holds_alternative<PyMark>(stack_.back()))
      refuse("the stack is empty");
    const PyValue value = stack_.back();
    stack_.pop_back();
    return value;
  }
  const PyValue& top() {
    if (stack_.empty()) refuse("the stack is empty");
    return stack_.back();
  }
  /// What lies above the last mark; both go.
  std::vector<PyValue> pop_to_mark() {
    size_t i = stack_.size();
    while (i > 0 && !std::holds_alternative<PyMark>(stack_[i - 1])) --i;
    if (i == 0) refuse("there is no mark");
    std::vector<PyValue> items(stack_.begin() + static_cast<ptrdiff_t>(i), stack_.end());
    stack_.resize(i - 1);
    return items;
  }
  template <class T>
  T as(const PyValue& value, std::string_view wanted) const {
    if (const T* t = std::get_if<T>(&value)) return *t;
    refuse(concat(wanted, " is wanted here"));
  }
  void put(uint64_t slot) {
    if (memo_.size() == most_values) refuse("it remembers more values than a state_dict can have");
    memo_[slot] = top();
  }
  void get(uint64_t slot) {
    const auto it = memo_.find(slot);
    if (it == memo_.end()) refuse(concat("nothing is remembered under ", slot));
    push(it->second);
  }

  // ---- making values ----
  void push_text(std::string_view text) { push(&out_.texts_.emplace_back(text)); }
  void push_list(bool is_tuple, std::vector<PyValue> items) {
    push(&out_.lists_.emplace_back(PyList{is_tuple, std::move(items)}));
  }
  void push_tuple(size_t count) {
    std::vector<PyValue> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push_list(true, std::move(items));
  }
  void set_items(const std::vector<PyValue>& items) {
    PyDict* target = as<PyDict*>(top(), "a dictionary");
    if (items.size() % 2 != 0) refuse("a key without a value");
    for (size_t i = 0; i < items.size(); i += 2) target->items.emplace_back(items[i], items[i + 1]);
  }
  void append_items(const std::vector<PyValue>& items) {
    PyList* target = as<PyList*>(top(), "a list");
    if (target->tuple) refuse("a list is wanted here");
    target->items.insert(target->items.end(), items.begin(), items.end());
  }

  /// An integer of up to eight bytes; a longer one (the magic number of old files) becomes its
  /// bytes as text.
  void push_long(std::string_view little_endian) {
    if (little_endian.size() > 8) return push_text(little_endian);
    uint64_t value =
        !little_endian.empty() && (little_endian.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    std::memcpy(&value, little_endian.data(), little_endian.size());
    push(static_cast<int64_t>(value));
  }

  void push_global() {
    std::string name(line());
    name += concat(".", line());
    for (const PyGlobal& g : globals)
      if (g.name == name) return push(&g);
    refuse(concat("the global '", printable(name),
                  "' is not one of those that a state_dict of tensors needs"));
  }

  const std::vector<PyValue>& items_of(const PyValue& value) const {
    return as<PyList*>(value, "a tuple or list")->items;
  }
  std::vector<int64_t> ints(const PyValue& value) const {
    std::vector<int64_t> numbers;
    if (items_of(value).size() > most_dims) refuse("a tensor of too many dimensions");
    for (const PyValue& item : items_of(value)) numbers.push_back(as<int64_t>(item, "an integer"));
    return numbers;
  }

  void call() {
    const PyValue arguments = pop();
    const PyGlobal& callee = *as<const PyGlobal*>(pop(), "something to call");
    const std::vector<PyValue>& args = items_of(arguments);
    const auto need = [&](size_t least) {
      if (args.size() < least)
        refuse(concat(callee.name, " is called with ", args.size(), " arguments"));
    };
    switch (callee.callee) {
      case Callee::ordered_dict: {
        PyDict& made = out_.dicts_.emplace_back();
        push(&made);
        if (args.empty()) return;
        spend(items_of(args[0]).size());
        for (const PyValue& pair : items_of(args[0])) {
          const std::vector<PyValue>& kv = items_of(pair);
          if (kv.size() != 2) refuse("a pair is wanted here");
          made.items.emplace_back(kv[0], kv[1]);
        }
        return;
      }
      case Callee::size: need(1); return push(as<PyList*>(args[0], "a tuple"));
      case Callee::parameter: need(1); return push(as<const PyTensor*>(args[0], "a tensor"));
      case Callee::tensor: {
        need(4);
        PyTensor t{as<const PyStorage*>(args[0], "a storage"), as<int64_t>(args[1], "an offset"),
                   ints(args[2]), ints(args[3])};
        return push(&out_.tensors_.emplace_back(std::move(t)));
      }
      case Callee::array: return push(&out_.arrays_.emplace_back());
      case Callee::element_type: need(1); return push_element_type(args[0]);
      case Callee::array_type:
      case Callee::storage: refuse(concat(callee.name, " is called; it comes as a reference only"));
    }
  }

  void push_element_type(const PyValue& name) {
    const std::string& text = *as<const std::string*>(name, "the name of a type");
    for (const ElementType& type : element_types) {
      if (type.name != text) continue;
      PyArray& made = out_.arrays_.emplace_back();
      made.is_type = true;
      made.dtype = type.dtype;
      return push(&made);
    }
    refuse(concat("elements of type '", printable(text), "'; little-endian numbers can be read"));
  }

  /// A dtype's state says its byte order; an array's is (version, shape, dtype, Fortran order,
  /// bytes).
  void fill(PyArray& array, const std::vector<PyValue>& state) {
    if (state.size() < 5) refuse("an array without its numbers");
    if (array.is_type) {
      const std::string& order = *as<const std::string*>(state[1], "a byte order");
      if (order != "<" && order != "|") refuse("numbers that are not little-endian");
      return;
    }
    const PyArray& type = *as<PyArray*>(state[2], "a type of elements");
    if (!type.is_type) refuse("a type of elements is wanted here");
    if (as<bool>(state[3], "true or false")) refuse("an array in Fortran order");
    array.dtype = type.dtype;
    array.size = ints(state[1]);
    array.bytes = as<const std::string*>(state[4], "the bytes of an array");
  }

  /// ("storage", type, key, location, elements, …) in both containers.
  void persistent_id() {
    const PyValue id = pop();
    const std::vector<PyValue>& parts = items_of(id);
    if (parts.size() < 5 || *as<const std::string*>(parts[0], "the word 'storage'") != "storage")
      refuse("a reference to something that is no storage");
    const PyGlobal& type = *as<const PyGlobal*>(parts[1], "a storage type");
    if (type.callee != Callee::storage) refuse(concat(type.name, " is no storage type"));
    if (parts.size() > 5 && !std::holds_alternative<PyNone>(parts[5]))
      refuse("a storage that is a view of another one");
    const int64_t numel = as<int64_t>(parts[4], "a number of elements");
    const std::string& key = *as<const std::string*>(parts[2], "a key");
    if (key.size() > longest_name) refuse("a key is too long");
    push(&out_.storages_.emplace_back(PyStorage{key, type.dtype, numel}));
  }

  /// What an array holds; attributes on a dictionary (`_metadata`) say nothing about the tensors
  /// and are dropped.
  void set_state() {
    const PyValue state = pop();
    if (PyArray* const* array = std::get_if<PyArray*>(&top()))
      return fill(**array, items_of(state));
    as<PyDict*>(top(), "a dictionary");
  }

  bool step() {
    op_at_ = at_;
    const auto op = number<uint8_t>();
    switch (op) {
      case proto:
        if (const auto version = number<uint8_t>(); version > 3)
          refuse(concat("protocol ", version, "; 2 is what PyTorch writes, 3 the newest known"));
        break;
      case stop: return false;
      case mark: push(PyMark{}); break;
      case none: push(PyNone{}); break;
      case newtrue: push(true); break;
      case newfalse: push(false); break;
      case binint: push(int64_t{number<int32_t>()}); break;
      case binint1: push(int64_t{number<uint8_t>()}); break;
      case binint2: push(int64_t{number<uint16_t>()}); break;
      case long1: push_long(take(number<uint8_t>())); break;
      case binfloat: push(std::bit_cast<double>(__builtin_bswap64(number<uint64_t>()))); break;
      case binunicode:
      case binbytes:
      case binstring: push_text(take(number<uint32_t>())); break;
      case short_binbytes:
      case short_binstring: push_text(take(number<uint8_t>())); break;
      case empty_tuple: push_list(true, {}); break;
      case tuple1: push_tuple(1); break;
      case tuple2: push_tuple(2); break;
      case tuple3: push_tuple(3); break;
      case tuple: push_list(true, pop_to_mark()); break;
      case empty_list: push_list(false, {}); break;
      case list: push_list(false, pop_to_mark()); break;
      case append: append_items({pop()}); break;
      case appends: append_items(pop_to_mark()); break;
      case empty_dict: push(&out_.dicts_.emplace_back()); break;
      case dict: {
        const std::vector<PyValue> items = pop_to_mark();
        push(&out_.dicts_.emplace_back());
        set_items(items);
        break;
      }
      case setitem: {
        const PyValue value = pop(), key = pop();
        set_items({key, value});
        break;
      }
      case setitems: set_items(pop_to_mark()); break;
      case binput: put(number<uint8_t>()); break;
      case long_binput: put(number<uint32_t>()); break;
      case binget: get(number<uint8_t>()); break;
      case long_binget: get(number<uint32_t>()); break;
      case global: push_global(); break;
      case reduce: call(); break;
      case build: set_state(); break;
      case binpersid: persistent_id(); break;
      default:
        refuse(concat("opcode ", static_cast<int>(op),
                      " is not one of those that a state_dict needs"));
    }
    return true;
  }

  Pickle& out_;
  std::span<const std::byte> bytes_;
  size_t& at_;
  size_t op_at_ = 0, spent_ = 0;
  std::vector<PyValue> stack_;
  std::unordered_map<uint64_t, PyValue> memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, size_t& at) {
  PickleMachine(*this, bytes, at).run();
}

}  // namespace hub
