//! The passes over the steps of programs. Each pass has a file in `lower` and can be switched off.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    BorrowedItems,
    MultiplyAdd,
    InPlaceResults,
    AddedProducts,
    JoinedLists,
    InputProducts,
}

impl Pass {
    pub const ALL: [Self; 6] = [
        Self::BorrowedItems,
        Self::MultiplyAdd,
        Self::InPlaceResults,
        Self::AddedProducts,
        Self::JoinedLists,
        Self::InputProducts,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::BorrowedItems => "borrowed-items",
            Self::MultiplyAdd => "multiply-add",
            Self::InPlaceResults => "in-place-results",
            Self::AddedProducts => "added-products",
            Self::JoinedLists => "joined-lists",
            Self::InputProducts => "input-products",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pass| pass.name() == name)
    }
}

/// A set of passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes(u32);

impl Passes {
    pub const ALL: Self = Self((1 << Pass::ALL.len()) - 1);

    pub fn new(passes: impl IntoIterator<Item = Pass>) -> Self {
        Self(passes.into_iter().fold(0, |bits, pass| bits | 1 << pass as u32))
    }

    pub fn has(self, pass: Pass) -> bool {
        self.0 & (1 << pass as u32) != 0
    }

    /// Returns the set as bits. `from_bits` is the inverse.
    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn from_bits(bits: u32) -> Self {
        Self(bits & Self::ALL.0)
    }
}

/// How often each pass has changed a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fired([usize; Pass::ALL.len()]);

impl Fired {
    pub fn of(&self, pass: Pass) -> usize {
        self.0[pass as usize]
    }

    pub(crate) fn count(&mut self, pass: Pass) {
        self.0[pass as usize] += 1;
    }
}

impl std::fmt::Display for Fired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fired: Vec<String> = Pass::ALL
            .into_iter()
            .filter(|pass| self.of(*pass) > 0)
            .map(|pass| format!("{} {}", pass.name(), self.of(pass)))
            .collect();
        f.write_str(&fired.join(", "))
    }
}
