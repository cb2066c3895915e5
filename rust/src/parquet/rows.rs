//! Rows, one row group after the other.

use std::sync::Arc;

use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::RowGroupReader as _;
use parquet::record::reader::{ReaderIter, TreeBuilder};

use super::chunk::Index;
use super::column::Column;
use super::fence::fenced;
use super::group::RowGroup;
use super::plan::{Leaf, Plan};
use super::{Fault, ParquetFile, Value, to_size};
use crate::Result;

/// How many values of a column are decoded at once.
const BATCH: usize = 32;

/// One row: its columns in the file's order.
pub type Row = Vec<(Arc<str>, Value)>;

/// The rows of a file, in order. After an error there are no more.
pub struct Rows {
    file: Arc<ParquetFile>,
    plan: Plan,
    /// Which of the plan's leaves stay in the file.
    late: Vec<bool>,
    /// The next row group.
    next_group: usize,
    group: Option<Group>,
    /// The number of the next row in the file.
    row: u64,
}

/// A row group that is being read.
struct Group {
    number: usize,
    /// The next row in it, and how many it has.
    row: usize,
    count: usize,
    /// Of the plan's small columns: those that nest, and the others.
    records: Option<ReaderIter>,
    flat: Vec<Column>,
    /// Of the plan's leaves.
    indices: Vec<Arc<Index>>,
}

impl Rows {
    pub(super) fn new(
        file: Arc<ParquetFile>,
        wanted: impl Fn(&str) -> bool,
        late: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let plan = fenced(|| Plan::new(file.metadata(), &wanted))
            .map_err(|what| file.fault(Fault::Footer(what)))?;
        let schema = file.metadata().file_metadata().schema_descr();
        for leaf in 0..schema.num_columns() {
            if wanted(schema.get_column_root(leaf).name()) {
                file.check_codec(leaf)?;
            }
        }
        let late = plan.leaves.iter().map(|leaf| late(&leaf.column)).collect();
        Ok(Self { file, plan, late, next_group: 0, group: None, row: 0 })
    }

    /// The next row, or `None` at the end.
    ///
    /// # Errors
    /// [`crate::Error::Parquet`] if the row group or one of its columns is damaged.
    pub fn next_row(&mut self) -> Result<Option<Row>> {
        loop {
            match &self.group {
                Some(group) if group.row < group.count => break,
                _ if self.next_group >= self.file.metadata().num_row_groups() => return Ok(None),
                // A group without rows may be without pages.
                _ if self.count(self.next_group) == 0 => {}
                _ => self.group = Some(self.open_group(self.next_group)?),
            }
            self.next_group += 1;
        }
        let row = self.read_row();
        if row.is_err() {
            self.group = None;
            self.next_group = usize::MAX;
        }
        row
    }

    fn read_row(&mut self) -> Result<Option<Row>> {
        let Some(group) = self.group.as_mut() else { return Ok(None) };
        let mut row = group
            .small_values(&self.plan)
            .map_err(|what| self.file.fault(Fault::Group { group: group.number, what }))?;
        let within = group.row;
        group.row += 1;
        for ((leaf, index), &is_late) in self.plan.leaves.iter().zip(&group.indices).zip(&self.late)
        {
            Plan::put(leaf, &mut row, |element| {
                large_value(&self.file, leaf, index, (self.row, within, element), is_late)
            })?;
        }
        self.row += 1;
        Ok(Some(row))
    }

    /// How many rows a row group announces.
    fn count(&self, group: usize) -> usize {
        let group = self.file.metadata().row_groups().get(group);
        let rows = group.map_or(0, RowGroupMetaData::num_rows);
        usize::try_from(to_size(rows)).unwrap_or(usize::MAX)
    }

    fn open_group(&self, number: usize) -> Result<Group> {
        let file = &self.file;
        let (records, flat) = fenced(|| {
            let group = RowGroup::new(&file.source, &file.metadata, number)
                .ok_or_else(|| ParquetError::General("there is no such row group".to_owned()))?;
            let nests = self.plan.small.contains(&None);
            let builder = TreeBuilder::new().with_batch_size(BATCH);
            let nested = || builder.as_iter(Arc::clone(&self.plan.nested), &group);
            let leaves = self.plan.small.iter().flatten();
            let about = file.metadata().file_metadata().schema_descr();
            let flat = leaves
                .map(|&leaf| Ok(Column::new(group.get_column_reader(leaf)?, about.column(leaf))));
            Ok((nests.then(nested).transpose()?, flat.collect::<ParquetResult<_>>()?))
        })
        .map_err(|what| file.fault(Fault::Group { group: number, what }))?;
        let indices = self.plan.leaves.iter().map(|leaf| {
            let chunk = file.chunk(number, leaf.number)?;
            file.cursors
                .index(&chunk)
                .map_err(|damage| file.damaged(number, leaf.number, &damage.to_string()))
        });
        Ok(Group {
            number,
            row: 0,
            count: self.count(number),
            records,
            flat,
            indices: indices.collect::<Result<_>>()?,
        })
    }
}

impl Group {
    /// The next row without its large values.
    fn small_values(&mut self, plan: &Plan) -> std::result::Result<Row, String> {
        let too_few = || "it has fewer rows than announced".to_owned();
        let mut nested = match &mut self.records {
            None => Vec::new().into_iter(),
            Some(records) => {
                let record = fenced(|| records.next().transpose())?.ok_or_else(too_few)?;
                // The conversion may print dates, which panics on impossible ones.
                let values =
                    || record.into_columns().into_iter().map(|(_, value)| Value::from(value));
                fenced(|| Ok(values().collect::<Vec<_>>()))?.into_iter()
            }
        };
        let mut flat = self.flat.iter_mut();
        let mut row = Row::with_capacity(plan.columns.len());
        let large =
            |at: usize| plan.leaves.iter().any(|leaf| leaf.at == at && leaf.field.is_none());
        let names = plan.columns.iter().enumerate().filter(|&(at, _)| !large(at));
        for ((_, name), leaf) in names.zip(&plan.small) {
            let value = if leaf.is_none() {
                nested.next()
            } else {
                flat.next().map(Column::next).transpose()?.flatten()
            };
            row.push((Arc::clone(name), value.ok_or_else(too_few)?));
        }
        Ok(row)
    }
}

/// The value of an element, or its address where it is to be read late.
fn large_value(
    file: &ParquetFile,
    leaf: &Leaf,
    index: &Index,
    (row, within, element): (u64, usize, usize),
    is_late: bool,
) -> Result<Value> {
    if !index.is_present(within, element).unwrap_or(false) {
        return Ok(Value::Null);
    }
    if is_late {
        return Ok(Plan::late(leaf, row, element));
    }
    file.cell(leaf.number, row, element)
}
