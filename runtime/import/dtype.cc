#include "runtime/import/dtype.h"

#include "base/error.h"

namespace hub {
namespace {

struct Type {
  int code;
  DType dtype;
  std::string_view name;
};

constexpr Type onnx_types[] = {{1, DType::f32, "float"},
                               {2, DType::u8, "uint8"},
                               {3, DType::i8, "int8"},
                               {4, DType::u16, "uint16"},
                               {5, DType::i16, "int16"},
                               {6, DType::i32, "int32"},
                               {7, DType::i64, "int64"},
                               {8, DType::string, "string"},
                               {9, DType::boolean, "bool"},
                               {10, DType::f16, "float16"},
                               {11, DType::f64, "double"},
                               {12, DType::u32, "uint32"},
                               {13, DType::u64, "uint64"},
                               {14, DType::none, "complex64"},
                               {15, DType::none, "complex128"},
                               {16, DType::bf16, "bfloat16"},
                               {17, DType::f8e4m3, "float8e4m3fn"},
                               {18, DType::f8e4m3fnuz, "float8e4m3fnuz"},
                               {19, DType::f8e5m2, "float8e5m2"},
                               {20, DType::f8e5m2fnuz, "float8e5m2fnuz"},
                               {21, DType::u4, "uint4"},
                               {22, DType::i4, "int4"},
                               {23, DType::none, "float4e2m1"}};

constexpr Type paddle_types[] = {
    {0, DType::boolean, "BOOL"},     {1, DType::i16, "INT16"},   {2, DType::i32, "INT32"},
    {3, DType::i64, "INT64"},        {4, DType::f16, "FP16"},    {5, DType::f32, "FP32"},
    {6, DType::f64, "FP64"},         {19, DType::u64, "SIZE_T"}, {20, DType::u8, "UINT8"},
    {21, DType::i8, "INT8"},         {22, DType::bf16, "BF16"},  {23, DType::none, "COMPLEX64"},
    {24, DType::none, "COMPLEX128"}, {25, DType::none, "STRING"}};

DType find(std::span<const Type> types, int code, std::string_view what) {
  for (const Type& type : types) {
    if (type.code != code) continue;
    if (type.dtype == DType::none) fail(Code::unsupported, what, " has the type ", type.name);
    return type.dtype;
  }
  fail(Code::unsupported, what, " has the unknown type ", code);
}

}  // namespace

DType onnx_dtype(int code, std::string_view what) { return find(onnx_types, code, what); }
DType paddle_dtype(int type, std::string_view what) { return find(paddle_types, type, what); }

}  // namespace hub
