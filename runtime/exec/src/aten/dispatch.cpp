// C interface to c10's dispatcher: calls an operator by name, with arguments converted according to its schema.
//
// A call is prepared once, which converts the known arguments. Each unknown argument is a hole with a type, and every
// run fills the holes. No exception leaves this file: an error is returned as a kind and a message.

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using c10::IValue;
using c10::TypeKind;

namespace {

// The same numbers as `raw::Tag`.
enum Tag : int32_t { None, Tensor, Int, Float, Bool, String, DType, Device, Layout, MemoryFormat, List, Hole };

// A node of a tree in preorder: the items of a list follow it.
struct Value {
  int32_t tag;
  int32_t index;   // the index of a device
  uint64_t length; // the length of a list or a string
  union {
    int64_t integer;
    double real;
    const char *text;
    at::Tensor *tensor; // owned by the caller, for arguments and results
    Value *items;       // the items of a list in a result, owned by the caller
  };
};

// The same numbers as `ErrorKind`.
enum Kind : int32_t { Runtime, Index, Type, Invalid, NotImplemented, Memory };

struct Failure {
  int32_t kind;
  char *text;
};

struct Form {
  int32_t dtype;
  int32_t device;
  int32_t index;
  bool requires_grad;
};

struct Filling {
  size_t argument;
  c10::TypePtr type;
  // The whole tree of the argument. A hole is either the argument itself or an item of a list in it.
  std::vector<Value> tree;
};

struct Call {
  c10::OperatorHandle op;
  std::vector<IValue> arguments;
  std::vector<Filling> fillings;
  std::vector<std::string> texts;
};

struct Mismatch : std::exception {
  std::string text;
  explicit Mismatch(std::string text) : text(std::move(text)) {}
  const char *what() const noexcept override { return text.c_str(); }
};

// A number passed as a tensor is promoted as a number (c10's "wrapped number").
at::Tensor wrapped(const at::Scalar &number) {
  at::Tensor tensor = at::scalar_tensor(number, at::device(at::kCPU).dtype(number.type()));
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

[[noreturn]] void mismatch(const Value &value, const c10::Type &type) {
  static const char *const names[] = {"none",   "a tensor", "an int", "a float",         "a bool", "a string",
                                      "a dtype", "a device", "a layout", "a memory format", "a list"};
  throw Mismatch("expected " + type.str() + ", found " + names[value.tag]);
}

// Reads a tree and fills its holes from `next`.
struct Reader {
  const Value *node;
  const Value *next;

  IValue read(const c10::TypePtr &type) {
    const Value *value = node++;
    if (value->tag == Hole) {
      // A hole is filled with a tree.
      const Value *after = node;
      node = next;
      IValue filled = read(type);
      next = node;
      node = after;
      return filled;
    }
    return convert(*value, type);
  }

  IValue convert(const Value &value, const c10::TypePtr &type) {
    switch (type->kind()) {
    case TypeKind::OptionalType:
      return value.tag == None ? IValue() : convert(value, type->castRaw<c10::OptionalType>()->getElementType());
    case TypeKind::TensorType:
      switch (value.tag) {
      case Tensor: return *value.tensor;
      case Int: return wrapped(value.integer);
      case Float: return wrapped(value.real);
      case Bool: return wrapped(value.integer != 0);
      }
      break;
    case TypeKind::IntType:
    case TypeKind::SymIntType:
    case TypeKind::ScalarTypeType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
      switch (value.tag) {
      case Int:
      case Bool:
      case DType:
      case Layout:
      case MemoryFormat: return value.integer;
      }
      break;
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      switch (value.tag) {
      case Float: return value.real;
      case Int:
      case Bool: return static_cast<double>(value.integer);
      }
      break;
    case TypeKind::NumberType:
      switch (value.tag) {
      case Float: return value.real;
      case Int: return value.integer;
      case Bool: return value.integer != 0;
      }
      break;
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      switch (value.tag) {
      case Int:
      case Bool: return value.integer != 0;
      }
      break;
    case TypeKind::StringType:
      if (value.tag == String) return std::string(value.text, value.length);
      break;
    case TypeKind::DeviceObjType:
      if (value.tag == Device) return c10::Device(static_cast<c10::DeviceType>(value.integer), value.index);
      break;
    case TypeKind::ListType:
      return list(value, type->castRaw<c10::ListType>()->getElementType());
    default: break;
    }
    mismatch(value, *type);
  }

  template <class T, class Item> IValue items(const Value &value, const c10::TypePtr &element, Item item) {
    c10::List<T> list;
    list.reserve(value.length);
    for (uint64_t i = 0; i < value.length; ++i) list.push_back(item(read(element)));
    return list;
  }

  IValue list(const Value &value, const c10::TypePtr &element) {
    if (value.tag != List) {
      // `stride=1` for a list of two: the operator repeats it.
      if (value.tag == Int) return c10::List<int64_t>({convert(value, element).toInt()});
      if (value.tag == Float) return c10::List<double>({convert(value, element).toDouble()});
      mismatch(value, *c10::ListType::create(element));
    }
    switch (element->kind()) {
    case TypeKind::TensorType: return items<at::Tensor>(value, element, [](IValue v) { return std::move(v).toTensor(); });
    case TypeKind::IntType:
    case TypeKind::SymIntType: return items<int64_t>(value, element, [](IValue v) { return v.toInt(); });
    case TypeKind::FloatType: return items<double>(value, element, [](IValue v) { return v.toDouble(); });
    case TypeKind::BoolType: return items<bool>(value, element, [](IValue v) { return v.toBool(); });
    case TypeKind::OptionalType:
      if (element->castRaw<c10::OptionalType>()->getElementType()->kind() == TypeKind::TensorType)
        return items<std::optional<at::Tensor>>(value, element, [](IValue v) { return std::move(v).toOptional<at::Tensor>(); });
      [[fallthrough]];
    default: {
      c10::impl::GenericList list(element);
      for (uint64_t i = 0; i < value.length; ++i) list.push_back(read(element));
      return list;
    }
    }
  }
};

// The number of nodes of a tree.
size_t extent(const Value *node) {
  size_t nodes = 1;
  if (node->tag == List)
    for (uint64_t i = 0; i < node->length; ++i) nodes += extent(node + nodes);
  return nodes;
}

char *first_line(const char *text) { return strndup(text, strcspn(text, "\n")); }

// Turns exceptions into a `Failure`. Uses messages without a backtrace, because symbolizing the frames of libtorch takes
// milliseconds.
template <class Body> bool guarded(Failure *failure, Body body) {
  auto fail = [&](Kind kind, const char *text) {
    *failure = {kind, first_line(text)};
    return false;
  };
  try {
    body();
    return true;
  } catch (const Mismatch &e) {
    return fail(Type, e.what());
  } catch (const c10::IndexError &e) {
    return fail(Index, e.what_without_backtrace());
  } catch (const c10::TypeError &e) {
    return fail(Type, e.what_without_backtrace());
  } catch (const c10::ValueError &e) {
    return fail(Invalid, e.what_without_backtrace());
  } catch (const c10::NotImplementedError &e) {
    return fail(NotImplemented, e.what_without_backtrace());
  } catch (const c10::OutOfMemoryError &e) {
    return fail(Memory, e.what_without_backtrace());
  } catch (const c10::Error &e) {
    return fail(Runtime, e.what_without_backtrace());
  } catch (const std::bad_alloc &) {
    return fail(Memory, "out of memory");
  } catch (const std::exception &e) {
    return fail(Runtime, e.what());
  } catch (...) {
    return fail(Runtime, "unknown C++ exception");
  }
}

void take_back(Value *value) {
  if (value->tag == Tensor) delete value->tensor;
  if (value->tag == List) {
    for (uint64_t i = 0; i < value->length; ++i) take_back(&value->items[i]);
    free(value->items);
  }
  *value = {};
}

void give(const IValue &value, Value *out) {
  *out = {};
  if (value.isTensor()) {
    const at::Tensor &tensor = value.toTensor();
    if (tensor.defined()) {
      out->tag = Tensor;
      out->tensor = new at::Tensor(tensor);
    }
  } else if (value.isInt()) {
    out->tag = Int;
    out->integer = value.toInt();
  } else if (value.isSymInt()) {
    out->tag = Int;
    out->integer = value.toSymInt().guard_int(__FILE__, __LINE__);
  } else if (value.isDouble()) {
    out->tag = Float;
    out->real = value.toDouble();
  } else if (value.isBool()) {
    out->tag = Bool;
    out->integer = value.toBool();
  } else if (value.isList()) {
    auto items = value.toListRef();
    out->tag = List;
    out->length = items.size();
    out->items = static_cast<Value *>(calloc(items.size() + 1, sizeof(Value)));
    if (!out->items) throw std::bad_alloc();
    try {
      for (size_t i = 0; i < items.size(); ++i) give(items[i], &out->items[i]);
    } catch (...) {
      take_back(out);
      throw;
    }
  } else if (!value.isNone()) {
    throw Mismatch("unsupported result type: " + value.tagKind());
  }
}

struct Mode {
  at::AutoGradMode grad{false};
  at::AutoDispatchBelowADInplaceOrView below;
  // Below the autograd keys nothing is recorded, but oneDNN's LSTM saves
  // what its backward kernel needs only if gradients are enabled.
  c10::AutoGradMode gradients{true};
  // The casts of autocast are nodes of the graph.
  c10::impl::ExcludeDispatchKeyGuard no_casts{c10::autocast_dispatch_keyset};
};

template <class T> void read_element(const at::Tensor &tensor, T &out) { out = *tensor.const_data_ptr<T>(); }

} // namespace

extern "C" {

// Returns null on failure. `nodes` holds the trees of the arguments, one after the other.
Call *ag_call_prepare(const char *name, const char *overload, const Value *nodes, size_t count, Failure *failure) {
  Call *prepared = nullptr;
  guarded(failure, [&] {
    auto op = c10::Dispatcher::singleton().findSchema({name, overload});
    if (!op) {
      std::string dot = *overload ? "." : "";
      throw Mismatch("torch has no operator " + (name + dot) + overload);
    }
    const c10::FunctionSchema &schema = op->schema();
    if (schema.is_mutable()) throw Mismatch(std::string(name) + " modifies its operands");
    auto call = std::make_unique<Call>(Call{*op, {}, {}, {}});
    const Value *end = nodes + count;
    for (const c10::Argument &argument : schema.arguments()) {
      size_t index = call->arguments.size();
      if (nodes == end) {
        if (!argument.default_value()) throw Mismatch("`" + argument.name() + "` is missing");
        call->arguments.push_back(*argument.default_value());
        continue;
      }
      const Value *after = nodes + extent(nodes);
      bool open = false;
      for (const Value *node = nodes; node != after; ++node) open |= node->tag == Hole;
      if (open) {
        call->fillings.push_back({index, argument.real_type(), std::vector<Value>(nodes, after)});
        call->arguments.emplace_back();
      } else {
        Reader reader{nodes, nullptr};
        try {
          call->arguments.push_back(reader.read(argument.real_type()));
        } catch (const Mismatch &e) {
          throw Mismatch("`" + argument.name() + "`: " + e.text);
        }
      }
      nodes = after;
    }
    if (nodes != end) throw Mismatch("too many arguments: the schema has " + std::to_string(schema.arguments().size()));
    // The trees with holes outlive this call, so their strings are copied.
    for (Filling &filling : call->fillings)
      for (Value &value : filling.tree)
        if (value.tag == String) call->texts.emplace_back(value.text, value.length);
    size_t text = 0;
    for (Filling &filling : call->fillings)
      for (Value &value : filling.tree)
        if (value.tag == String) value.text = call->texts[text++].c_str();
    prepared = call.release();
  });
  return prepared;
}

void ag_call_free(Call *call) { delete call; }

size_t ag_call_returns(const Call *call) { return call->op.schema().returns().size(); }

// `fillings` holds a tree for each hole, in order. Writes as many results as the schema has returns. On failure, writes none.
bool ag_call_run(const Call *call, const Value *fillings, Value *results, Failure *failure) {
  Value *out = results;
  bool done = guarded(failure, [&] {
    std::vector<IValue> stack = call->arguments;
    Reader reader{nullptr, fillings};
    for (const Filling &filling : call->fillings) {
      reader.node = filling.tree.data();
      stack[filling.argument] = reader.read(filling.type);
    }
    call->op.callBoxed(stack);
    for (const IValue &result : stack) give(result, out++);
  });
  if (!done)
    while (out != results) take_back(--out);
  return done;
}

void ag_items_free(Value *items) { free(items); }

void ag_text_free(char *text) { free(text); }

// The settings of torch on this thread that influence what an operator computes or records, packed into one number:
// reading each of them through Python would take longer than a small graph. Bit 0 is set if autocast, transforms or
// modes are active. The number does not describe their state, which consists of Python objects or differs per device.
// Bits 8 and higher: all other settings.
uint64_t ag_ambient() {
  const auto keys = c10::impl::tls_local_dispatch_key_set();
  const auto &context = at::globalContext();
  const bool casts = !keys.excluded_.has_all(c10::autocast_dispatch_keyset);
  const bool transforms = keys.included_.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
  const bool modes = at::impl::PythonTorchFunctionTLS::stack_len() > 0 || c10::impl::TorchDispatchModeTLS::stack_len() > 0;
  const bool flags[] = {
      at::GradMode::is_enabled(),
      c10::InferenceMode::is_enabled(),
      torch::autograd::AnomalyMode::is_enabled(),
      context.deterministicAlgorithms(),
      context.deterministicAlgorithmsWarnOnly(),
      context.deterministicFillUninitializedMemory(),
      context.userEnabledMkldnn(),
      context.userEnabledCuDNN(),
      context.userEnabledFlashSDP(),
      context.userEnabledMemEfficientSDP(),
      context.userEnabledMathSDP(),
      context.userEnabledCuDNNSDP(),
  };
  uint64_t bits = static_cast<uint64_t>(c10::get_default_dtype_as_scalartype());
  for (bool flag : flags) bits = bits << 1 | flag;
  return bits << 8 | (casts || transforms || modes);
}

// The number of in-place changes of a tensor; 0 for an inference tensor, which does not count them.
int64_t ag_changes(const at::Tensor *tensor) { return tensor->is_inference() ? 0 : tensor->_version(); }

bool ag_grad_is_enabled() { return at::GradMode::is_enabled(); }

bool ag_uses_onednn() { return at::globalContext().hasMKLDNN() && at::globalContext().userEnabledMkldnn(); }

const char *ag_version() { return TORCH_VERSION; }

// While this object lives, operators on this thread bypass autograd and autocast.
Mode *ag_mode_enter() { return new Mode(); }

void ag_mode_leave(Mode *mode) { delete mode; }

// The single element of a tensor as Int, Float or Bool.
bool ag_item(const at::Tensor *tensor, Value *out, Failure *failure) {
  return guarded(failure, [&] {
    *out = {};
    TORCH_CHECK(tensor->numel() == 1, "a Tensor with ", tensor->numel(), " elements cannot be converted to Scalar");
    auto dtype = tensor->scalar_type();
    if (tensor->is_cpu() && !tensor->is_neg() && dtype == at::kFloat) {
      float element;
      read_element(*tensor, element);
      out->tag = Float;
      out->real = element;
    } else if (tensor->is_cpu() && !tensor->is_neg() && dtype == at::kLong) {
      out->tag = Int;
      read_element(*tensor, out->integer);
    } else if (tensor->is_cpu() && dtype == at::kBool) {
      bool element;
      read_element(*tensor, element);
      out->tag = Bool;
      out->integer = element;
    } else {
      give(IValue(tensor->item()), out);
    }
  });
}

// A number as a tensor operand. If the other operand is floating and determines the dtype of the computation, the number
// gets its dtype: a different dtype would cost a conversion in each call.
at::Tensor *ag_number(const Value *number, int32_t other_dtype, Failure *failure) {
  at::Tensor *made = nullptr;
  guarded(failure, [&] {
    auto dtype = number->tag == Float ? at::kDouble : number->tag == Bool ? at::kBool : at::kLong;
    if (other_dtype == static_cast<int32_t>(at::kFloat) && number->tag != Bool) dtype = at::kFloat;
    if (other_dtype == static_cast<int32_t>(at::kDouble) && number->tag != Bool) dtype = at::kDouble;
    at::Tensor tensor(at::detail::empty_cpu({}, dtype));
    auto write = [&](auto *element) {
      using T = std::remove_pointer_t<decltype(element)>;
      *element = number->tag == Float ? static_cast<T>(number->real) : static_cast<T>(number->integer);
    };
    switch (dtype) {
    case at::kFloat: write(tensor.mutable_data_ptr<float>()); break;
    case at::kDouble: write(tensor.mutable_data_ptr<double>()); break;
    case at::kBool: write(tensor.mutable_data_ptr<bool>()); break;
    default: write(tensor.mutable_data_ptr<int64_t>());
    }
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    made = new at::Tensor(std::move(tensor));
  });
  return made;
}

bool ag_size(const at::Tensor *tensor, int64_t dimension, int64_t *out, Failure *failure) {
  return guarded(failure, [&] { *out = tensor->size(dimension); });
}

// Whether an in-place write to the tensor is unobservable: the tensor and its storage have one owner, torch allocated the
// storage, and no two elements overlap.
bool ag_is_uniquely_owned(const at::Tensor *tensor) {
  return tensor->defined() && tensor->use_count() == 1 && tensor->has_storage() &&
         tensor->storage().use_count() == 1 && tensor->storage().resizable() && tensor->is_contiguous() &&
         !tensor->requires_grad();
}

// Whether both tensors have the same dtype, sizes and device.
bool ag_same_type_and_shape(const at::Tensor *a, const at::Tensor *b) {
  return a->dtype() == b->dtype() && a->sizes() == b->sizes() && a->device() == b->device() &&
         a->layout() == b->layout();
}

// The dtype, device and history of a strided tensor. `false` for any other tensor.
bool ag_form(const at::Tensor *tensor, Form *out) {
  if (!tensor->defined() || tensor->layout() != at::kStrided)
    return false;
  *out = {static_cast<int32_t>(tensor->scalar_type()), static_cast<int32_t>(tensor->device().type()),
          static_cast<int32_t>(tensor->device().index()), tensor->requires_grad()};
  return true;
}

bool ag_has_form(const at::Tensor *tensor, const Form *form, const int64_t *sizes, const int64_t *strides, size_t rank) {
  Form found;
  return ag_form(tensor, &found) && found.dtype == form->dtype && found.device == form->device &&
         found.index == form->index && found.requires_grad == form->requires_grad &&
         tensor->sizes() == at::IntArrayRef(sizes, rank) && tensor->strides() == at::IntArrayRef(strides, rank);
}

// Whether two of these tensors with elements share a storage.
bool ag_share_storage(const at::Tensor *const *tensors, size_t count) {
  std::vector<const void *> storages;
  for (size_t i = 0; i < count; ++i)
    if (tensors[i]->defined() && tensors[i]->has_storage() && tensors[i]->numel() > 0)
      storages.push_back(tensors[i]->storage().data());
  std::sort(storages.begin(), storages.end());
  return std::adjacent_find(storages.begin(), storages.end()) != storages.end();
}

// Writes values to tensors without recording a history, as if all values were read before the first write.
bool ag_write(const at::Tensor *const *targets, const at::Tensor *const *values, size_t count, Failure *failure) {
  return guarded(failure, [&] {
    at::NoGradGuard no_grad;
    std::vector<const void *> written;
    for (size_t i = 0; count > 1 && i < count; ++i)
      if (targets[i]->has_storage()) written.push_back(targets[i]->storage().data());
    std::sort(written.begin(), written.end());
    std::vector<at::Tensor> read(count);
    for (size_t i = 0; i < count; ++i) {
      const bool may_be_written = !values[i]->has_storage() ||
                                  (values[i]->storage().use_count() > 1 &&
                                   std::binary_search(written.begin(), written.end(), values[i]->storage().data()));
      if (may_be_written) read[i] = values[i]->clone();
    }
    for (size_t i = 0; i < count; ++i) {
      const at::Tensor &target = *targets[i], &value = read[i].defined() ? read[i] : *values[i];
      const auto is_plain = [](const at::Tensor &it) {
        return it.is_cpu() && it.layout() == at::kStrided && it.is_contiguous() && !it.is_neg() && !it.is_conj() &&
               !it.key_set().has(c10::DispatchKey::Python);
      };
      if (is_plain(target) && is_plain(value) && target.scalar_type() == value.scalar_type() &&
          target.sizes() == value.sizes() && !target.is_inference()) {
        if (target.numel() > 0)
          memmove(target.mutable_data_ptr(), value.const_data_ptr(), target.numel() * target.element_size());
        target.unsafeGetTensorImpl()->bump_version();
      } else {
        target.copy_(value);
      }
    }
  });
}

// The address of a tensor on the CPU with this dtype, these sizes and these strides; null for any other tensor.
const void *ag_address(const at::Tensor *tensor, int32_t dtype, const int64_t *sizes, const int64_t *strides,
                       size_t rank) {
  if (!tensor->defined() || !tensor->has_storage() || !tensor->device().is_cpu() || tensor->layout() != at::kStrided ||
      tensor->scalar_type() != static_cast<at::ScalarType>(dtype) || tensor->is_neg() ||
      tensor->key_set().has(c10::DispatchKey::Python) || tensor->sizes() != at::IntArrayRef(sizes, rank))
    return nullptr;
  auto given = tensor->strides();
  for (size_t dim = 0; dim < rank; ++dim)
    if (sizes[dim] != 1 && given[dim] != strides[dim])
      return nullptr;
  try {
    // The address may be unaligned: `torch.frombuffer` accepts any offset.
    auto address = tensor->const_data_ptr();
    return reinterpret_cast<uintptr_t>(address) % tensor->element_size() == 0 ? address : nullptr;
  } catch (...) {
    return nullptr;
  }
}

// A new tensor on the CPU, and its address.
at::Tensor *ag_new(int32_t dtype, const int64_t *sizes, const int64_t *strides, size_t rank, void **address) {
  try {
    auto tensor = at::detail::empty_strided_cpu(at::IntArrayRef(sizes, rank), at::IntArrayRef(strides, rank),
                                                static_cast<at::ScalarType>(dtype), false);
    *address = tensor.mutable_data_ptr();
    return new at::Tensor(std::move(tensor));
  } catch (...) {
    return nullptr;
  }
}

// A view of the tensor, `offset` elements after its first.
at::Tensor *ag_view(const at::Tensor *tensor, const int64_t *sizes, const int64_t *strides, size_t rank, int64_t offset) {
  try {
    return new at::Tensor(tensor->as_strided(at::IntArrayRef(sizes, rank), at::IntArrayRef(strides, rank),
                                             tensor->storage_offset() + offset));
  } catch (...) {
    return nullptr;
  }
}

// The linker drops the CUDA libraries from a program that calls none of their functions, so load them at run time.
bool ag_load_cuda() { return dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_GLOBAL) != nullptr; }
}
