// What this machine's arithmetic reaches at best, to hold networks against.
#pragma once

namespace hub {

/// Runs float32 multiply-adds in registers on every thread of the team, for some milliseconds;
/// returns how many operations those were. The caller takes the time.
double burn();

/// The highest rate of some such runs, in operations a second.
double peak_flops();

}  // namespace hub
