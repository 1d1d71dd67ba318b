// Records calls, and makes them fail if requested.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

namespace stand_in {

using Detail = std::pair<const char *, std::string>;

// Every function of the interface calls this first; returns 0, or the error that it has to return.
int enter(const char *call);
// Notes the result of a call; returns `status`.
int leave(const char *call, int status, std::initializer_list<Detail> details = {});
// Writes a sentence to the test's output and to the record.
void complain(const std::string &message);
// Makes every later call fail with `status`, as on a device that is gone.
void lose_device(int status);
// Sets the function that counts remaining objects when the process ends. It is called when the record is closed.
void count_left_over(std::string (*count)());

std::string quoted(const std::string &text);
std::string number(unsigned long long value);

}  // namespace stand_in
