// The operators of com.microsoft on small integers, as onnxruntime's quantizer writes them.
#pragma once

#include "runtime/import/node.h"

namespace hub {

void microsoft_qlinear_binary(ImportNode& n);  ///< QLinearAdd, QLinearMul
void microsoft_qlinear_unary(ImportNode& n);   ///< QLinearSigmoid, QLinearLeakyRelu
void microsoft_qlinear_pool(ImportNode& n);    ///< QLinearAveragePool, QLinearGlobalAveragePool
void microsoft_qlinear_concat(ImportNode& n);  ///< QLinearConcat
void microsoft_qgemm(ImportNode& n);           ///< QGemm

}  // namespace hub
