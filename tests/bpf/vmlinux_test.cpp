// SPDX-License-Identifier: Apache-2.0
// The hand-written kernel types against the running kernel's own.
#include <bpf/btf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

namespace memlog {
namespace {

using Types = std::unique_ptr<btf, decltype(&btf__free)>;

// Whether the struct has the field, also inside an unnamed member.
bool has_field(const btf* types, uint32_t struct_id, std::string_view field) {
  const btf_type* type = btf__type_by_id(types, struct_id);
  while (btf_is_mod(type) || btf_is_typedef(type)) type = btf__type_by_id(types, type->type);
  if (!btf_is_composite(type)) return false;
  for (int i = 0; i < btf_vlen(type); i++) {
    const std::string_view name = btf__name_by_offset(types, btf_members(type)[i].name_off);
    if (name == field || (name.empty() && has_field(types, btf_members(type)[i].type, field))) return true;
  }
  return false;
}

// Our own structs begin with a capital letter, the kernel's never do.
bool is_kernel_struct(const btf_type* type, std::string_view name) {
  return btf_is_struct(type) && !name.empty() && (name[0] < 'A' || name[0] > 'Z') &&
         name.find("___") == std::string_view::npos;
}

TEST(Vmlinux, DeclaresOnlyWhatTheRunningKernelHas) {
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) GTEST_SKIP() << "this kernel has no BTF";
  const Types ours(btf__parse(MEMLOG_BPF_OBJECT, nullptr), btf__free);
  const Types kernels(btf__parse("/sys/kernel/btf/vmlinux", nullptr), btf__free);
  ASSERT_TRUE(ours && kernels);
  int checked = 0;
  for (uint32_t id = 1; id < btf__type_cnt(ours.get()); id++) {
    const btf_type* type = btf__type_by_id(ours.get(), id);
    const std::string name = btf__name_by_offset(ours.get(), type->name_off);
    if (!is_kernel_struct(type, name)) continue;
    const int found = btf__find_by_name_kind(kernels.get(), name.c_str(), BTF_KIND_STRUCT);
    EXPECT_GT(found, 0) << "struct " << name;
    if (found <= 0) continue;
    for (int i = 0; i < btf_vlen(type); i++) {
      const char* field = btf__name_by_offset(ours.get(), btf_members(type)[i].name_off);
      EXPECT_TRUE(has_field(kernels.get(), static_cast<uint32_t>(found), field)) << name << "." << field;
      checked++;
    }
  }
  EXPECT_GT(checked, 25);  // the object does carry its types
}

}  // namespace
}  // namespace memlog
