#include "doubling.hpp"

struct DrivesTerminal : Doubling {
  void forward(const tenon::Call&) const {
    throw tenon::Error("\x1b[2J\x1b]0;title\x07\r\nerror: forged\nhint: \xff\u202e\u009b");
  }
};
TENON_OPERATOR(drives_terminal, DrivesTerminal)
