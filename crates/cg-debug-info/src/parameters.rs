//! The parameters of C++ functions without mangled names in the debug information: static functions, functions in unnamed
//! namespaces, and closures. They are written as in GNU's demangler, which Valgrind uses for symbols: `char const*`,
//! `unsigned long`.

use gimli::{AttributeValue, DebugInfoOffset, UnitOffset, constants};

use crate::dwarf::{OpenUnit, Slice, Stop};
use crate::limits::Steps;
use crate::names::DwarfNames;
use crate::walk::{Origin, origin_of};

/// The maximum depth of types that refer to each other.
const MAX_TYPE_DEPTH: usize = 24;
/// The maximum number of parameters to write, including parameters in the types of parameters.
const MAX_PARAMETERS: usize = 256;

/// A piece of a type's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypePiece<'a> {
    /// Fixed text.
    Text(&'static str),
    /// A declared type, which may be in scopes.
    Declared(Origin, Slice<'a>),
    /// A basic type of the language.
    Base(Slice<'a>),
}

/// The parameters of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameters<'a> {
    /// The text between the parentheses.
    pub(crate) pieces: Vec<TypePiece<'a>>,
    /// True for a `const` member function.
    pub(crate) is_const: bool,
    count: usize,
}

impl<'a> DwarfNames<'_, 'a> {
    /// Returns the parameters of the function at an entry; `None` if the debug information has no parameters, as with `-g1`.
    pub(crate) fn parameters(
        &self,
        function: Origin,
        steps: &mut Steps,
    ) -> Result<Option<Parameters<'a>>, Stop> {
        let Some((_, open)) = self.open(function, steps)? else {
            return Ok(None);
        };
        let Some(offset) = unit_offset(function, &open) else {
            return Ok(None);
        };
        let mut reader = ParameterReader {
            names: self,
            steps,
            parameters: Parameters::default(),
            depth: 0,
        };
        reader.add_parameters(&open, function, offset)?;
        let parameters = reader.parameters;
        let has_none = parameters.count == 0 && open.has_no_types(self.dwarf(function));
        Ok((!has_none).then_some(parameters))
    }
}

/// Reads the parameters of a function.
struct ParameterReader<'r, 'n, 'a> {
    names: &'r DwarfNames<'n, 'a>,
    steps: &'r mut Steps,
    parameters: Parameters<'a>,
    /// The nesting depth of the current type.
    depth: usize,
}

impl<'a> ParameterReader<'_, '_, 'a> {
    fn push(&mut self, piece: TypePiece<'a>) {
        self.parameters.pieces.push(piece);
    }

    fn text(&mut self, text: &'static str) {
        self.push(TypePiece::Text(text));
    }

    /// Adds the parameters among the children of an entry.
    fn add_parameters(
        &mut self,
        open: &OpenUnit<'a>,
        function: Origin,
        offset: UnitOffset,
    ) -> Result<(), Stop> {
        let mut entries = open.unit.entries_raw(Some(offset))?;
        let mut separator = "";
        let Some(own) = entries.read_abbreviation()? else {
            return Ok(());
        };
        entries.skip_attributes(own.attributes())?;
        while own.has_children() && entries.next_depth() > 0 && !entries.is_empty() {
            self.steps.take(50)?;
            let is_child = entries.next_depth() == 1;
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            let attributes = abbreviation.attributes();
            match abbreviation.tag() {
                constants::DW_TAG_formal_parameter
                    if is_child && self.parameters.count < MAX_PARAMETERS =>
                {
                    let parameter =
                        self.read_parameter(&mut entries, attributes, open, function)?;
                    self.parameters.count += 1;
                    if parameter.is_object {
                        self.parameters.is_const |=
                            self.points_to_const(parameter.declared_type)?;
                        continue;
                    }
                    self.text(std::mem::replace(&mut separator, ", "));
                    // Qualifiers of a parameter itself concern only the function's own copy and are not part of the name.
                    let declared_type = self.without_qualifiers(parameter.declared_type)?;
                    self.add_type(declared_type)?;
                    continue;
                }
                constants::DW_TAG_unspecified_parameters if is_child => {
                    self.text(std::mem::replace(&mut separator, ", "));
                    self.text("...");
                }
                // Parameters precede the entries of the function's body.
                constants::DW_TAG_lexical_block
                | constants::DW_TAG_variable
                | constants::DW_TAG_inlined_subroutine => return Ok(()),
                _ => {}
            }
            entries.skip_attributes(attributes)?;
        }
        Ok(())
    }

    fn read_parameter(
        &self,
        entries: &mut gimli::EntriesRaw<'_, Slice<'a>>,
        attributes: &[gimli::AttributeSpecification],
        open: &OpenUnit<'a>,
        function: Origin,
    ) -> Result<Parameter, Stop> {
        let mut parameter = Parameter::default();
        for specification in attributes {
            let attribute = entries.read_attribute(*specification)?;
            let value = attribute.value();
            match attribute.name() {
                constants::DW_AT_artificial => parameter.is_object = true,
                constants::DW_AT_type => parameter.declared_type = target(value, open, function),
                constants::DW_AT_name => {
                    let dwarf = self.names.dwarf(function);
                    let name = dwarf.and_then(|dwarf| dwarf.attr_string(&open.unit, value).ok());
                    parameter.is_object |=
                        name.is_some_and(|name| matches!(name.slice(), b"this" | b"__closure"));
                }
                _ => {}
            }
        }
        Ok(parameter)
    }

    /// Reads the entry of a type; `None` if there is no entry.
    fn type_at(&mut self, origin: Option<Origin>) -> Result<Option<TypeEntry<'a>>, Stop> {
        let Some(origin) = origin else {
            return Ok(None);
        };
        self.steps.take(300)?;
        let Some((_, open)) = self.names.open(origin, self.steps)? else {
            return Ok(None);
        };
        let Some(offset) = unit_offset(origin, &open) else {
            return Ok(None);
        };
        let entry = open.unit.entry(offset)?;
        let name = entry.attr_value(constants::DW_AT_name);
        let dwarf = self.names.dwarf(origin);
        Ok(Some(TypeEntry {
            tag: entry.tag(),
            name: name.and_then(|name| dwarf?.attr_string(&open.unit, name).ok()),
            inner: (entry.attr_value(constants::DW_AT_type))
                .and_then(|value| target(value, &open, origin)),
            origin,
        }))
    }

    /// Returns a type without its own qualifiers, such as `const` and `volatile`.
    fn without_qualifiers(&mut self, mut origin: Option<Origin>) -> Result<Option<Origin>, Stop> {
        for _ in 0..MAX_TYPE_DEPTH {
            match self.type_at(origin)? {
                Some(entry) if is_qualifier(entry.tag) => origin = entry.inner,
                _ => break,
            }
        }
        Ok(origin)
    }

    fn points_to_const(&mut self, origin: Option<Origin>) -> Result<bool, Stop> {
        let origin = self.without_qualifiers(origin)?;
        let Some(pointer) = self.type_at(origin)? else {
            return Ok(false);
        };
        let object = self.type_at(pointer.inner)?;
        Ok(object.is_some_and(|object| object.tag == constants::DW_TAG_const_type))
    }

    /// Adds the name of a type. A missing type is `void`.
    fn add_type(&mut self, origin: Option<Origin>) -> Result<(), Stop> {
        self.depth += 1;
        match self.depth > MAX_TYPE_DEPTH {
            true => self.text("?"),
            false => self.add_known_type(origin)?,
        }
        self.depth -= 1;
        Ok(())
    }

    fn add_known_type(&mut self, origin: Option<Origin>) -> Result<(), Stop> {
        let Some(entry) = self.type_at(origin)? else {
            self.text("void");
            return Ok(());
        };
        let mark = match entry.tag {
            constants::DW_TAG_pointer_type | constants::DW_TAG_array_type => "*",
            constants::DW_TAG_reference_type => "&",
            constants::DW_TAG_rvalue_reference_type => "&&",
            constants::DW_TAG_const_type => " const",
            constants::DW_TAG_volatile_type => " volatile",
            constants::DW_TAG_restrict_type => "",
            constants::DW_TAG_typedef => return self.add_typedef(&entry),
            constants::DW_TAG_subroutine_type => return self.add_function_type(&entry, "("),
            constants::DW_TAG_base_type | constants::DW_TAG_unspecified_type => {
                self.push(entry.name.map_or(TypePiece::Text("?"), TypePiece::Base));
                return Ok(());
            }
            _ => {
                let declared = |name| TypePiece::Declared(entry.origin, name);
                let unnamed = TypePiece::Text("{unnamed type}");
                self.push(entry.name.map_or(unnamed, declared));
                return Ok(());
            }
        };
        let inner = self.type_at(entry.inner)?;
        if let Some(inner) = inner.filter(|inner| inner.tag == constants::DW_TAG_subroutine_type) {
            let open = match mark {
                "*" => "(*)(",
                "&" => "(&)(",
                "&&" => "(&&)(",
                _ => "(",
            };
            return self.add_function_type(&inner, open);
        }
        self.add_type(entry.inner)?;
        self.text(mark);
        Ok(())
    }

    /// Adds a typedef. A typedef is an alias, unless it names an otherwise unnamed type.
    fn add_typedef(&mut self, entry: &TypeEntry<'a>) -> Result<(), Stop> {
        let inner = self.type_at(entry.inner)?;
        let is_only_name = inner.is_some_and(|inner| {
            inner.name.is_none()
                && matches!(
                    inner.tag,
                    constants::DW_TAG_structure_type
                        | constants::DW_TAG_class_type
                        | constants::DW_TAG_union_type
                        | constants::DW_TAG_enumeration_type
                )
        });
        match entry.name {
            Some(name) if is_only_name => {
                self.push(TypePiece::Declared(entry.origin, name));
                Ok(())
            }
            _ => self.add_type(entry.inner),
        }
    }

    /// Adds the type of a function, such as `int (*)(char)`.
    fn add_function_type(&mut self, entry: &TypeEntry<'a>, open: &'static str) -> Result<(), Stop> {
        self.add_type(entry.inner)?;
        self.text(" ");
        self.text(open);
        if let Some((_, unit)) = self.names.open(entry.origin, self.steps)?
            && let Some(offset) = unit_offset(entry.origin, &unit)
            && self.depth < MAX_TYPE_DEPTH
        {
            self.depth += 1;
            self.add_parameters(&unit, entry.origin, offset)?;
            self.depth -= 1;
        }
        self.text(")");
        Ok(())
    }
}

/// The attributes of a parameter's entry.
#[derive(Default)]
struct Parameter {
    declared_type: Option<Origin>,
    /// True for `this`, and for the closure of a closure's function.
    is_object: bool,
}

/// The attributes of a type's entry.
struct TypeEntry<'a> {
    tag: constants::DwTag,
    name: Option<Slice<'a>>,
    inner: Option<Origin>,
    origin: Origin,
}

fn is_qualifier(tag: constants::DwTag) -> bool {
    matches!(
        tag,
        constants::DW_TAG_const_type
            | constants::DW_TAG_volatile_type
            | constants::DW_TAG_restrict_type
    )
}

fn unit_offset(origin: Origin, open: &OpenUnit) -> Option<UnitOffset> {
    DebugInfoOffset(origin.offset()).to_unit_offset(&open.unit.header)
}

/// Returns the entry that an attribute refers to.
fn target<'a>(
    value: AttributeValue<Slice<'a>>,
    open: &OpenUnit<'a>,
    from: Origin,
) -> Option<Origin> {
    Some(origin_of(value, open)?.seen_from(from))
}

/// Returns the name of a basic type in the form of GNU's demangler. In debug information, GCC writes `long unsigned int`.
pub(crate) fn base_type(name: &[u8]) -> &[u8] {
    match name {
        b"long unsigned int" => b"unsigned long",
        b"long int" => b"long",
        b"short unsigned int" => b"unsigned short",
        b"short int" => b"short",
        b"long long unsigned int" => b"unsigned long long",
        b"long long int" => b"long long",
        b"__int128 unsigned" => b"unsigned __int128",
        b"_Float128" => b"__float128",
        name => name,
    }
}
