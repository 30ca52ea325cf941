//! The file with the table of measured products in the user's cache folder: a line for each kind,
//! `INDEX KERNEL KERNEL ...`. Invalid lines are ignored, and their kinds are measured again.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use etcetera::BaseStrategy;

use super::class::SIZES;
use super::kernels::Kernel;
use super::table::Table;

/// The maximum size of the file, in bytes. A larger file is not read.
const LARGEST: u64 = 1 << 16;

/// Returns the path of the table for a number of threads. The name contains the processor and the version of torch, on
/// which the table depends. `None` if the user has no home folder.
pub(super) fn path(threads: i32) -> Option<PathBuf> {
    let folder = etcetera::choose_base_strategy().ok()?.cache_dir().join("ag-lsp");
    let torch = crate::aten::version();
    Some(folder.join(format!("products-{}-torch-{torch}-threads-{threads}.txt", processor())))
}

pub(super) fn load(threads: i32) -> Option<Table> {
    let path = path(threads)?;
    let is_table = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
    is_table.then_some(())?;
    Some(parse(&fs::read_to_string(path).ok()?))
}

/// Writes the table. If the folder cannot be written, the next process measures again.
pub(super) fn store(threads: i32, table: &Table) {
    let Some(path) = path(threads) else { return };
    let Some(folder) = path.parent() else { return };
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        // The file is replaced atomically, because another process may read it.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text(table).as_bytes())?;
        file.persist(&path)?;
        Ok(())
    };
    let _ = write();
}

fn text(table: &Table) -> String {
    let mut lines = String::new();
    for (index, row) in table.iter().enumerate() {
        let Some(row) = row else { continue };
        lines.push_str(&index.to_string());
        for kernel in row {
            lines.push(' ');
            lines.push_str(kernel.name());
        }
        lines.push('\n');
    }
    lines
}

fn parse(text: &str) -> Table {
    let mut table = Table::default();
    for line in text.lines() {
        let mut words = line.split(' ');
        let index: Option<usize> = words.next().and_then(|word| word.parse().ok());
        let row: Option<Vec<Kernel>> = words.map(Kernel::from_name).collect();
        let row = row.and_then(|row| <[Kernel; SIZES]>::try_from(row).ok());
        if let Some(place) = index.and_then(|index| table.get_mut(index)) {
            *place = row;
        }
    }
    table
}

/// Returns a name for the model of the processor, which is part of a file name.
fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let vendor = std::arch::x86_64::__cpuid(0);
        let model = std::arch::x86_64::__cpuid(1).eax;
        format!("x86_64-{:08x}-{model:08x}", vendor.ebx)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        std::env::consts::ARCH.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let mut table = Table::default();
        table[3] = Some([Kernel::OneDnn; SIZES]);
        table[9] = Some(std::array::from_fn(|size| Kernel::ALL[size % Kernel::ALL.len()]));
        assert_eq!(parse(&text(&table)), table);
    }

    #[test]
    fn lines_that_are_not_valid_are_ignored() {
        let valid = format!("2{}", " onednn".repeat(SIZES));
        let text =
            format!("{valid}\n\n1 onednn\n99{}\n-1 torch\n3 rm -rf\n\u{0}\u{fffd}", " torch".repeat(SIZES));
        let table = parse(&text);
        assert_eq!(table[2], Some([Kernel::OneDnn; SIZES]));
        assert_eq!(table.iter().flatten().count(), 1);
    }
}
