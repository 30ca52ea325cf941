//! Output formats of converted code, one file per format.

mod json;
mod output;
mod side_by_side;
mod source_map;

use ag_convert::{Characters, Converter, FunctionInfo, Reason, SourceMap};
pub(crate) use output::Output;
use ruff_source_file::LineIndex;

use crate::cli::convert::Format;

/// A converted file or function.
pub(crate) struct Converted {
    /// The file or function as given on the command line.
    pub(crate) file: String,
    /// The output text.
    pub(crate) text: String,
    /// The JSON objects of its functions, separated by commas.
    pub(crate) entries: String,
    /// The reasons why functions are not converted.
    pub(crate) messages: Vec<String>,
    /// Whether the source has syntax errors.
    pub(crate) has_errors: bool,
    source: String,
    map: SourceMap,
}

impl Converted {
    /// Returns the source map (version 3) as JSON.
    pub(crate) fn source_map(&self) -> String {
        source_map::write(&self.file, &self.source, &self.text, &self.map)
    }
}

/// Converts a whole text or one function of it. The error is a message about the arguments.
pub(crate) fn of(
    file: &str,
    source: &str,
    converter: &Converter<'_>,
    qualname: Option<&str>,
    format: Format,
) -> Result<Converted, String> {
    let mut converted = Converted {
        file: file.to_owned(),
        text: String::new(),
        entries: String::new(),
        messages: Vec::new(),
        has_errors: converter.errors().next().is_some(),
        source: if format == Format::Json { String::new() } else { source.to_owned() },
        map: SourceMap::default(),
    };
    let lines = LineIndex::from_source_text(source);
    if format == Format::Json {
        let mut functions = converter.functions();
        if let Some(qualname) = qualname {
            functions.retain(|function| function.info.qualname == qualname);
            if functions.is_empty() {
                return Err(unknown(qualname));
            }
        }
        let original = Characters::new(source);
        let mut entries = Vec::new();
        for function in functions {
            if !entries.is_empty() {
                entries.push(b',');
            }
            json::write(&mut entries, file, source, &original, &lines, &function)
                .map_err(|error| error.to_string())?;
        }
        converted.entries = String::from_utf8(entries).map_err(|error| error.to_string())?;
        return Ok(converted);
    }
    let infos: Vec<(FunctionInfo, Option<Reason>)> = match qualname {
        Some(qualname) => {
            let found = converter.function_in_place(qualname).ok_or_else(|| unknown(qualname))?;
            let (info, reason, text, map) = found;
            (converted.text, converted.map) = (text, map);
            vec![(info, reason)]
        }
        None => {
            let module = converter.module();
            (converted.text, converted.map) = (module.text, module.map);
            module.functions
        }
    };
    converted.messages = infos
        .iter()
        .filter_map(|(info, reason)| {
            let line = lines.line_index(info.name_range.start());
            Some(format!("{file}:{line}: `{}` is not converted: {}", info.qualname, reason.as_ref()?))
        })
        .collect();
    if format == Format::SideBySide {
        converted.text =
            side_by_side::write(source, &lines, &converted.text, &converted.map, qualname.is_some());
    }
    Ok(converted)
}

fn unknown(qualname: &str) -> String {
    format!("no function `{qualname}`; name a method as `Class.method`")
}
