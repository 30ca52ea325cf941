//! Writes a model into a copy of the template.

use ag_standalone::model::MARK;
use object::build::ByteString;
use object::build::elf::{Builder, SectionData};
use object::elf;

/// The names that the template exports start with these, and the suffixes of the names that replace them.
const FUNCTIONS: [(&[u8], &str); 2] = [(b"ag_template_run", "_run"), (b"ag_template_error", "_error")];

/// The alignment of the model in memory: a page on all processors that Linux supports.
const PAGE: u64 = 1 << 16;

/// Returns the shared library for a function with this name. Symbols become shorter, and one program header is replaced,
/// so that nothing in the template moves.
pub(crate) fn with_model(template: &[u8], name: &str, model: &[u8]) -> Result<Vec<u8>, String> {
    let text = |error: object::build::Error| error.to_string();
    let mut builder = Builder::read(template).map_err(text)?;
    for (prefix, suffix) in FUNCTIONS {
        let mut symbols = builder.dynamic_symbols.iter_mut();
        let symbol = symbols.find(|symbol| symbol.name.starts_with(prefix));
        symbol.ok_or("the template exports other functions")?.name =
            ByteString::from(format!("{name}{suffix}").into_bytes());
    }

    // The build ID of the template is not that of the library, so its program header is free.
    let mut notes = builder.segments.iter_mut().filter(|segment| segment.p_type == elf::PT_NOTE);
    notes.next().ok_or("the template has no program header to replace")?.delete = true;
    let section = builder.sections.add();
    section.name = ByteString::from(&b".model"[..]);
    section.sh_type = elf::SHT_PROGBITS;
    section.sh_flags = u64::from(elf::SHF_ALLOC);
    section.sh_addralign = PAGE;
    section.data = SectionData::Data(model.into());
    builder.set_section_sizes();
    let section = builder.sections.iter_mut().last().ok_or("no section was added")?;
    builder.segments.add_load_segment(elf::PF_R, PAGE).append_section(section);
    let address = section.sh_addr;

    let marked = builder.sections.iter_mut().find_map(|section| {
        let SectionData::Data(data) = &mut section.data else { return None };
        let at = data.windows(MARK.len()).position(|window| *window == MARK)?;
        Some((section.sh_addr + at as u64, data.to_mut().get_mut(at + MARK.len()..)?))
    });
    let (position, rest) = marked.ok_or("the template has no position for the model")?;
    let fields = [address.wrapping_sub(position), model.len() as u64];
    let field_bytes = rest.get_mut(..16).ok_or("the position of the model is incomplete")?;
    for (bytes, field) in field_bytes.chunks_exact_mut(8).zip(fields) {
        bytes.copy_from_slice(&field.to_le_bytes());
    }

    let mut object = Vec::new();
    builder.write(&mut object).map_err(text)?;
    Ok(object)
}
