#include <catch2/catch.hpp>

#include "runtime/import/import.h"
#include "tests/error_of.h"
#include "tests/runtime/files.h"

using namespace hub;

namespace {

std::string npy(std::string dict, std::string_view data) {
  dict += '\n';
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(dict.size() & 0xff);
  file += static_cast<char>(dict.size() >> 8);
  return file + dict + std::string(data);
}

}  // namespace

TEST_CASE("npy: what is written is read back") {
  for (const Tensor& t :
       {Tensor::floats({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::ints({7, -8}), Tensor::scalar(2.5F),
        Tensor(DType::u8, {0, 4}), Tensor(DType::boolean, {0})}) {
    const std::string file = write_npy(t);
    CHECK((file.size() - t.bytes()) % 64 == 0);
    const Tensor back = read_npy(mapped(file));
    CHECK(back.spec() == t.spec());
    CHECK(back.to_floats() == t.to_floats());
  }
}

TEST_CASE("npy: the bytes are those of NumPy") {
  const std::string one = write_npy(Tensor::ints({1}));
  CHECK(one.substr(0, 70) == std::string("\x93NUMPY\1\0\x76\0", 10) +
                                 "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }   ");
  CHECK(write_npy(Tensor::scalar(1)).find("'shape': (), }") != std::string::npos);
  CHECK(write_npy(Tensor::floats({1, 2}, {1, 2})).find("'shape': (1, 2), }") != std::string::npos);
}

TEST_CASE("npy: Fortran order, any order of keys, truth values of any byte") {
  const Tensor f = read_npy(
      mapped(npy("{'shape': (2, 3), 'fortran_order': True, 'descr': '|u1'}", "\1\2\3\4\5\6")));
  CHECK(f.to_ints() == std::vector<int64_t>{1, 3, 5, 2, 4, 6});
  const Tensor b = read_npy(mapped(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }",
                                       std::string("\0\1\x7f", 3))));
  CHECK(b.to_ints() == std::vector<int64_t>{0, 1, 1});
}

TEST_CASE("npy: what is not right is refused") {
  struct Case {
    std::string dict, data;
    Code code;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234", Code::unsupported,
       ">f4"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1234", Code::unsupported, "|O"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234", Code::refused,
       "needs 8 bytes, there are 4"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "12345", Code::refused,
       "there are 5"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "", Code::refused, "header"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "",
       Code::refused, "addressed"},
      {"{'descr': '<f4', 'fortran_order': False, }", "1234", Code::refused, "header"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234",
       Code::refused, "header"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "1234", Code::refused, "header"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } + exit()", "1234", Code::refused,
       "header"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "1234",
       Code::unsupported, "dimensions"},
  };
  for (const Case& c : cases) {
    INFO(c.dict);
    CHECK_THAT(error_of(c.code, [&] { read_npy(mapped(npy(c.dict, c.data))); }),
               Catch::Contains(c.message));
  }
  CHECK_THAT(error_of(Code::unsupported, [] { write_npy(Tensor(DType::bf16, {1})); }),
             Catch::Contains("bfloat16"));
  check_damage(write_npy(Tensor::floats({2, 2}, {1, 2, 3, 4})),
               [](const std::string& bytes) { read_npy(mapped(bytes)); });
}
