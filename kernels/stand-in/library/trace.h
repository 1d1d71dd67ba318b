// Calls: written down, made to fail on demand.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

namespace stand_in {

using Detail = std::pair<const char *, std::string>;

// To be called first in every function of the interface: 0, or the error it is to return.
int enter(const char *call);
// Notes how a call went; the answer is `status`.
int leave(const char *call, int status, std::initializer_list<Detail> details = {});
// A sentence for whoever reads the test's output, and the record.
void complain(const std::string &message);
// Every later call fails with `status`, as on a device that is gone.
void lose_device(int status);
// What is still there when the process ends: asked when the record is closed.
void count_left_over(std::string (*count)());

std::string quoted(const std::string &text);
std::string number(unsigned long long value);

}  // namespace stand_in
