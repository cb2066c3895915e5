//! Which columns are read as rows, and which large leaves are read on their own.

use std::sync::Arc;

use parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type, TypePtr};

use super::Row;
use super::value::{Late, Value};

/// From this average size on, nulls not counted, the values of a leaf are read on their own.
const LARGE: i64 = 4096;

/// A leaf of bytes or text whose values are large.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    /// The leaf's number among all leaves of the file.
    pub(super) number: usize,
    /// The top column it belongs to, and that column's place in the row.
    pub(super) column: Arc<str>,
    pub(super) at: usize,
    /// Where the leaf is in its struct, and its name there; `None` where it is the column.
    pub(super) field: Option<(usize, String)>,
}

/// How the rows of a file are read.
pub(super) struct Plan {
    /// The wanted columns that nest, without the large leaves.
    pub(super) nested: SchemaDescPtr,
    /// Of each wanted column that is not a large leaf, in order: its leaf, or `None` if it nests.
    pub(super) small: Vec<Option<usize>>,
    /// The names of the wanted columns, in the file's order.
    pub(super) columns: Vec<Arc<str>>,
    /// The large leaves of the wanted columns.
    pub(super) leaves: Vec<Leaf>,
}

impl Plan {
    /// The plan for the columns that `wanted` says yes to.
    pub(super) fn new(
        metadata: &ParquetMetaData,
        wanted: impl Fn(&str) -> bool,
    ) -> parquet::errors::Result<Self> {
        let mut plan = Self {
            nested: metadata.file_metadata().schema_descr_ptr(),
            small: Vec::new(),
            columns: Vec::new(),
            leaves: Vec::new(),
        };
        let mut fields = Vec::new();
        let mut first = 0;
        for column in metadata.file_metadata().schema().get_fields() {
            let count = count_leaves(column);
            if wanted(column.name()) {
                plan.columns.push(column.name().into());
                if let Some(small) = plan.without_large(metadata, column, first)? {
                    let is_flat = column.is_primitive() && is_single(column);
                    plan.small.push(is_flat.then_some(first));
                    fields.extend((!is_flat).then_some(small));
                }
            }
            first += count;
        }
        let root = Type::group_type_builder("schema").with_fields(fields).build()?;
        plan.nested = Arc::new(SchemaDescriptor::new(Arc::new(root)));
        Ok(plan)
    }

    /// The column without its large leaves, which are added to the plan; `None` where the column is
    /// one itself. Looked for are the column itself, the fields of a struct, and the fields of the
    /// structs of a list; a struct always keeps one field, which says where there are structs.
    fn without_large(
        &mut self,
        metadata: &ParquetMetaData,
        column: &TypePtr,
        first: usize,
    ) -> parquet::errors::Result<Option<TypePtr>> {
        let name: Arc<str> = column.name().into();
        let at = self.columns.len() - 1;
        if column.is_primitive() {
            if is_large(metadata, column, first) {
                self.leaves.push(Leaf { number: first, column: name, at, field: None });
                return Ok(None);
            }
            return Ok(Some(Arc::clone(column)));
        }
        let Some(group) = group_of(column) else {
            return Ok(Some(Arc::clone(column)));
        };
        let mut kept = Vec::new();
        let mut number = first;
        let children = group.get_fields();
        for (position, child) in children.iter().enumerate() {
            let is_last_hope = kept.is_empty() && position + 1 == children.len();
            if child.is_primitive() && !is_last_hope && is_large(metadata, child, number) {
                let field = Some((position, child.name().to_owned()));
                let column = Arc::clone(&name);
                self.leaves.push(Leaf { number, column, at, field });
            } else {
                kept.push(Arc::clone(child));
            }
            number += count_leaves(child);
        }
        if kept.len() == children.len() {
            return Ok(Some(Arc::clone(column)));
        }
        replace_group(column, kept).map(Some)
    }

    /// Puts a large value, or its address, into its row. `value` gives it for an element, or `None`
    /// where the element is null.
    pub(super) fn put<E>(
        leaf: &Leaf,
        row: &mut Row,
        mut value: impl FnMut(usize) -> Result<Value, E>,
    ) -> Result<(), E> {
        let Some((position, name)) = &leaf.field else {
            row.insert(leaf.at.min(row.len()), (Arc::clone(&leaf.column), value(0)?));
            return Ok(());
        };
        let mut put = |fields: &mut Vec<(String, Value)>, element| {
            let value = value(element)?;
            fields.insert((*position).min(fields.len()), (name.clone(), value));
            Ok(())
        };
        match row.get_mut(leaf.at) {
            Some((_, Value::Struct(fields))) => put(fields, 0),
            Some((_, Value::List(list))) => {
                list.iter_mut().enumerate().try_for_each(|(element, item)| match item {
                    Value::Struct(fields) => put(fields, element),
                    _ => Ok(()),
                })
            }
            _ => Ok(()),
        }
    }

    /// The address of an element of a leaf.
    pub(super) fn late(leaf: &Leaf, row: u64, element: usize) -> Value {
        Value::Late(Late { column: Arc::clone(&leaf.column), leaf: leaf.number, row, element })
    }
}

fn count_leaves(node: &TypePtr) -> usize {
    if node.is_primitive() { 1 } else { node.get_fields().iter().map(count_leaves).sum() }
}

fn is_single(node: &Type) -> bool {
    node.get_basic_info().repetition() != Repetition::REPEATED
}

pub(super) fn is_text(leaf: &Type) -> bool {
    let info = leaf.get_basic_info();
    matches!(info.converted_type(), ConvertedType::UTF8 | ConvertedType::JSON)
        || matches!(info.logical_type_ref(), Some(LogicalType::String | LogicalType::Json))
}

fn is_large(metadata: &ParquetMetaData, leaf: &Type, number: usize) -> bool {
    let info = leaf.get_basic_info();
    let is_bytes = leaf.get_physical_type() == Physical::BYTE_ARRAY
        && is_single(leaf)
        && (is_text(leaf)
            || info.converted_type() == ConvertedType::NONE && info.logical_type_ref().is_none());
    let chunks = || metadata.row_groups().iter().filter_map(|group| group.columns().get(number));
    let size = chunks().fold(0_i64, |sum, chunk| sum.saturating_add(chunk.uncompressed_size()));
    let count = chunks().fold(0_i64, |sum, chunk| sum.saturating_add(not_null(chunk)));
    is_bytes
        && size / count.max(1) >= LARGE
        && chunks().all(|chunk| {
            chunk.encodings().all(|encoding| {
                matches!(
                    encoding,
                    Encoding::PLAIN
                        | Encoding::RLE
                        | Encoding::PLAIN_DICTIONARY
                        | Encoding::RLE_DICTIONARY
                )
            })
        })
}

/// How many values of a chunk are not null, where its statistics tell, else how many there are.
fn not_null(chunk: &ColumnChunkMetaData) -> i64 {
    let nulls = chunk.statistics().and_then(Statistics::null_count_opt).unwrap_or(0);
    chunk.num_values().saturating_sub(i64::try_from(nulls).unwrap_or(0)).max(0)
}

/// The struct that a column is, or that the elements of its list are.
fn group_of(column: &TypePtr) -> Option<&TypePtr> {
    if is_struct(column) {
        return Some(column);
    }
    let repeated = element_holder(column)?;
    repeated.get_fields().first().filter(|element| is_struct(element))
}

/// The repeated node between a list and its elements, in the format's three-level form.
fn element_holder(column: &TypePtr) -> Option<&TypePtr> {
    let is_list = column.get_basic_info().converted_type() == ConvertedType::LIST;
    let [repeated] = column.get_fields() else { return None };
    let is_legacy = repeated.name() == "array" || repeated.name().ends_with("_tuple");
    (is_list && repeated.is_group() && !is_legacy && repeated.get_fields().len() == 1)
        .then_some(repeated)
}

fn is_struct(node: &TypePtr) -> bool {
    node.is_group()
        && is_single(node)
        && node.get_basic_info().converted_type() == ConvertedType::NONE
        && node.get_basic_info().logical_type_ref().is_none()
}

/// The column with other fields in its struct, see [`group_of`].
fn replace_group(column: &TypePtr, kept: Vec<TypePtr>) -> parquet::errors::Result<TypePtr> {
    if is_struct(column) {
        return with_fields(column, kept);
    }
    let Some((repeated, element)) =
        element_holder(column).and_then(|holder| Some((holder, holder.get_fields().first()?)))
    else {
        return Ok(Arc::clone(column));
    };
    with_fields(column, vec![with_fields(repeated, vec![with_fields(element, kept)?])?])
}

fn with_fields(node: &TypePtr, fields: Vec<TypePtr>) -> parquet::errors::Result<TypePtr> {
    let info = node.get_basic_info();
    let node = Type::group_type_builder(node.name())
        .with_repetition(info.repetition())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(fields)
        .build()?;
    Ok(Arc::new(node))
}
