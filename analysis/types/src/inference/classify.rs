//! Converts ty's types to plain data ([`Fact`]).

use ruff_python_ast::name::Name;
use ty_python_semantic::types::{Type, TypeDefinition};

use super::{Inference, module_name};
use ag_index::facts::{Alternative, Callee, CalleeKind, DType, Fact, Library, TensorKind};
use ag_index::type_expression::{Placeholder, UNTYPED_TENSOR};

/// The maximum length of a type for display. Longer types are truncated.
const MAX_SHOWN: usize = 120;

impl<'db> Inference<'db> {
    pub(super) fn fact(&self, ty: Type<'db>) -> Fact {
        let mut fact = Fact { shown: self.shown(ty), ..Fact::default() };
        self.add(ty, &mut fact);
        fact
    }

    fn shown(&self, ty: Type<'db>) -> Name {
        let mut shown = ty.display(self.db, &self.env).to_string().replace("float*", "float");
        shown = shown.replace(UNTYPED_TENSOR, "Tensor[Any]");
        for placeholder in Placeholder::ALL {
            shown = shown.replace(placeholder.class(), placeholder.shown());
        }
        if shown.len() > MAX_SHOWN {
            let cut = (0..=MAX_SHOWN).rev().find(|at| shown.is_char_boundary(*at)).unwrap_or(0);
            shown.truncate(cut);
            shown.push('…');
        }
        Name::new(shown)
    }

    fn add(&self, ty: Type<'db>, fact: &mut Fact) {
        match ty {
            Type::Union(union) => {
                for element in union.elements(self.db) {
                    self.add(*element, fact);
                }
            }
            // `Unknown & ~None` is unknown. `Unknown & Tensor` is a Tensor: the result of an `isinstance` test.
            // `Tensor & Mapping` may be either: a test of an argument that is assumed to be a Tensor.
            Type::Intersection(intersection) => {
                let positive: Vec<_> = intersection.iter_positive(self.db).collect();
                let known: Vec<_> = positive.iter().filter(|ty| !matches!(ty, Type::Dynamic(_))).collect();
                fact.unknown |= known.len() > 1;
                let decisive = known.iter().find(|ty| self.is_host_value(***ty)).or(known.first());
                match decisive {
                    None => fact.unknown = true,
                    Some(decisive) => self.add(**decisive, fact),
                }
            }
            Type::Dynamic(_) | Type::Divergent(_) | Type::TypeVar(_) => fact.unknown = true,
            Type::Never => fact.never = true,
            Type::TypeAlias(alias) => self.add(alias.value_type(self.db), fact),
            _ => {
                // Assumed to be a Tensor, but possibly a structure of Tensors.
                let placeholder = self.placeholder(ty);
                fact.unknown |= placeholder.is_some();
                fact.argument |= placeholder == Some(Placeholder::Argument);
                if let Some(alternative) = self.alternative(ty)
                    && !fact.alternatives.contains(&alternative)
                {
                    fact.alternatives.push(alternative);
                }
            }
        }
    }

    fn alternative(&self, ty: Type<'db>) -> Option<Alternative> {
        Some(match ty {
            Type::LiteralValue(_) => self.literal(ty),
            Type::TypeIs(_) | Type::TypeGuard(_) => Alternative::Bool(None),
            Type::NominalInstance(instance) => {
                let class = instance.class_name(self.db, &self.env).clone();
                let module =
                    instance.class_module_name(self.db, &self.env).map(|module| Name::new(module.as_str()));
                self.instance(ty, module, class)
            }
            Type::FunctionLiteral(_)
            | Type::ClassLiteral(_)
            | Type::GenericAlias(_)
            | Type::SubclassOf(_) => {
                let kind = match ty {
                    Type::FunctionLiteral(_) => CalleeKind::Function,
                    _ => CalleeKind::Class,
                };
                self.callable(ty, kind)?
            }
            Type::BoundMethod(_) => self.callable(ty, CalleeKind::Method)?,
            Type::ModuleLiteral(_) => match ty.definition(self.db, &self.env) {
                Some(TypeDefinition::Module(module)) => {
                    Alternative::Module(Some(Name::new(module.name(self.db).as_str())))
                }
                _ => Alternative::Module(None),
            },
            Type::TypedDict(_) => {
                Alternative::Container { class: Name::new_static("dict"), staged: self.mentions_tensor(ty) }
            }
            _ => Alternative::Instance { module: None, class: self.shown(ty) },
        })
    }

    pub(super) fn placeholder(&self, ty: Type<'db>) -> Option<Placeholder> {
        match ty {
            Type::NominalInstance(instance) => {
                Placeholder::of_class(instance.class_name(self.db, &self.env).as_str())
            }
            _ => None,
        }
    }

    fn is_class(&self, ty: Type<'db>, names: &[&str]) -> bool {
        match ty {
            Type::NominalInstance(instance) => {
                names.contains(&instance.class_name(self.db, &self.env).as_str())
            }
            _ => false,
        }
    }

    /// Returns whether a type is that of a host value. Such a type determines an intersection: a Tensor after
    /// `isinstance(x, list)` is a list.
    fn is_host_value(&self, ty: Type<'db>) -> bool {
        const HOST: &[&str] = &[
            "list", "tuple", "dict", "set", "str", "int", "float", "bool", "ndarray",
            // The abstract base classes of `numbers` and `collections.abc`.
            "Number", "Complex", "Real", "Rational", "Integral", "Mapping", "Sequence",
        ];
        self.is_class(ty, HOST)
    }

    fn literal(&self, ty: Type<'db>) -> Alternative {
        let shown = ty.display(self.db, &self.env).to_string();
        let value = shown.strip_prefix("Literal[").and_then(|rest| rest.strip_suffix(']'));
        match value {
            Some("True") => Alternative::Bool(Some(true)),
            Some("False") => Alternative::Bool(Some(false)),
            Some(text) if text.starts_with(['"', '\'']) => {
                Alternative::Str(Some(Name::new(text.trim_matches(['"', '\'']))))
            }
            Some(text) => match text.parse() {
                Ok(number) => Alternative::Int(Some(number)),
                Err(_) => Alternative::Instance { module: None, class: Name::new(shown) },
            },
            None => Alternative::Str(None),
        }
    }

    fn instance(&self, ty: Type<'db>, module: Option<Name>, class: Name) -> Alternative {
        let package = module.as_deref().and_then(|module| module.split('.').next()).unwrap_or_default();
        match package {
            "builtins" => match class.as_str() {
                "bool" => return Alternative::Bool(None),
                "int" => return Alternative::Int(None),
                "float" => return Alternative::Float,
                "str" => return Alternative::Str(None),
                "list" | "tuple" | "dict" | "set" | "frozenset" => {
                    return Alternative::Container { class, staged: self.mentions_tensor(ty) };
                }
                _ => {}
            },
            Placeholder::MODULE if class == UNTYPED_TENSOR => {
                let (kind, library) = (TensorKind::Tensor, Library::Tensorflow);
                return Alternative::Tensor { kind, dtype: None, library };
            }
            Placeholder::MODULE => {
                if let Some(placeholder) = Placeholder::of_class(&class) {
                    let library = match placeholder {
                        Placeholder::Array => Library::Jax,
                        Placeholder::Tensor | Placeholder::Argument => Library::Tensorflow,
                    };
                    return Alternative::Tensor { kind: TensorKind::Tensor, dtype: None, library };
                }
            }
            "types" | "_typeshed" if class == "NoneType" => return Alternative::None,
            "tensorflow" | "keras" | "tf_keras" | "torch" | "jax" | "jaxlib" | "autograph" | "catalyst" => {
                if let Some(kind) = tensor_kind(&class) {
                    let library = Library::of_package(package);
                    return Alternative::Tensor { kind, dtype: self.dtype(ty), library };
                }
            }
            _ => {}
        }
        Alternative::Instance { module, class }
    }

    /// Returns the dtype in a type: `Tensor[float32]` -> float32.
    fn dtype(&self, ty: Type<'db>) -> Option<DType> {
        let shown = ty.display(self.db, &self.env).to_string();
        let (_, arguments) = shown.split_once('[')?;
        let argument = arguments.strip_suffix(']')?;
        DType::from_name(argument.rsplit('.').next().unwrap_or(argument).trim_end_matches('_'))
    }

    pub(super) fn mentions_tensor(&self, ty: Type<'db>) -> bool {
        let shown = ty.display(self.db, &self.env).to_string();
        shown
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| tensor_kind(word).is_some_and(TensorKind::is_tensor))
    }

    fn callable(&self, ty: Type<'db>, kind: CalleeKind) -> Option<Alternative> {
        let definition = ty.definition(self.db, &self.env)?;
        let definition = *definition.definition()?;
        let module = module_name(self.db, definition.file(self.db));
        let qualname = definition.name(self.db).map_or_else(|| self.shown(ty), Name::new);
        Some(Alternative::Callable(Callee { kind, module, qualname }))
    }
}

/// Returns the kind of Tensor-like object that a class has, by the name of the class; `None` for other classes.
fn tensor_kind(class: &str) -> Option<TensorKind> {
    Some(match class {
        UNTYPED_TENSOR | "Tensor" | "EagerTensor" | "SymbolicTensor" | "KerasTensor" | "Array"
        | "ArrayImpl" | "Tracer" => TensorKind::Tensor,
        "Variable" | "ResourceVariable" | "Parameter" | "Buffer" => TensorKind::Variable,
        "RaggedTensor" => TensorKind::Ragged,
        "SparseTensor" => TensorKind::Sparse,
        "Dataset" | "DatasetV2" | "DistributedDataset" => TensorKind::Dataset,
        "Iterator" | "OwnedIterator" | "DatasetIterator" | "DistributedIterator" => TensorKind::Iterator,
        "TensorArray" => TensorKind::TensorArray,
        _ => return None,
    })
}
