// The one thread team: OpenMP's, which oneDNN and our own kernels share.
#pragma once

namespace hub {

/// Lets the threads of the team sleep soon after they have nothing to do. Cheap after the first
/// call.
void calm_team();

/// Makes the team of this thread as large as set_threads() said to any thread.
void join_team();

}  // namespace hub
