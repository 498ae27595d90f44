#include "base/error.h"

namespace hub {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::usage: return "usage";
    case Code::not_found: return "not-found";
    case Code::network: return "network";
    case Code::integrity: return "integrity";
    case Code::refused: return "refused";
    case Code::storage: return "storage";
    case Code::busy: return "busy";
    case Code::auth: return "auth";
    case Code::unsupported: return "unsupported";
    case Code::numeric: return "numeric";
    case Code::peer: return "peer";
  }
  return "error";
}

}  // namespace hub
