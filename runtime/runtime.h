// The public header of the runtime. Start at session.h to run programs, op.h to write them.
#pragma once

#include "runtime/export/export.h"
#include "runtime/grad.h"
#include "runtime/import/import.h"
#include "runtime/op.h"
#include "runtime/ops.h"
#include "runtime/program.h"
#include "runtime/session.h"
#include "runtime/tape.h"
#include "runtime/tensor.h"
#include "runtime/train.h"
