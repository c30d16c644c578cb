//! Checks the Parquet export with the reader of the same crate.

use std::collections::BTreeMap;
use std::fs::File;

use answerback_ledger::tree::Frontier;
use answerback_ledger::{Checkpoint, Draft, Hash, LeafId, LeafToken, Note};
use answerback_store::Export;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::scene::{Scene, append};

#[test]
fn columns_contain_the_recorded_members() {
    let scene = Scene::new();
    let store = scene.open().unwrap();
    // Append more entries than fit into one row group.
    (0..3).for_each(|_| append(&store, 3000));
    let (id, token) = (LeafId::from([0x42; 16]), |text| LeafToken::new(text).unwrap());
    let part = store.part("seen", *b"12345").unwrap();
    let request = Draft::request().with_request_id(id).with_tool("read_file").with_part(part);
    let request = store.append(request).unwrap().wait().unwrap().value.index;
    let response = Draft::response()
        .with_request_id(id)
        .with_tool("read_file")
        .with_outcome(&token("error"))
        .with_codes([token("VAL-001")]);
    // A response must not have codes, but a rejected one may.
    assert!(store.append(response).unwrap().wait().is_err());
    let rejected = Draft::rejected()
        .with_request_id(id)
        .with_tool("read_file")
        .with_outcome(&token("refused"))
        .with_codes([token("VAL-001"), token("VAL-007")]);
    store.append(rejected).unwrap().wait().unwrap();
    let path = scene.path("ledger.parquet");
    let mut told = 0;
    let mut file = File::create(&path).unwrap();
    let exported =
        store.export_parquet(Export::new(), &mut file, &mut |seen| told = seen.done).unwrap();
    assert_eq!((exported.size, told), (9003, 9003));
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.num_row_groups(), 2);
    let about: BTreeMap<String, String> = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .unwrap()
        .iter()
        .map(|pair| (pair.key.clone(), pair.value.clone().unwrap()))
        .collect();
    let note = Note::parse(&about["answerback.checkpoint"]).unwrap();
    assert_eq!(about["answerback.vkey"], store.verifier_key().unwrap().to_string());
    assert_eq!(note, store.checkpoint().unwrap());
    let mut frontier = Frontier::default();
    let mut last = BTreeMap::new();
    for (index, row) in (0..).zip(reader.get_row_iter(None).unwrap()) {
        let row: BTreeMap<String, Field> = row.unwrap().into_columns().into_iter().collect();
        assert_eq!(row["index"], Field::Long(index));
        let entry = store.entry(u64::try_from(index).unwrap()).unwrap().unwrap();
        assert_eq!(row["ts"], Field::TimestampMicros(entry.leaf.micros()));
        let Field::Bytes(leaf) = &row["leaf"] else { panic!("{:?}", row["leaf"]) };
        frontier.append(Hash::of_leaf(leaf.data()));
        last = row;
    }
    // The file can be verified: its column of leaves gives the signed root.
    assert_eq!(frontier.root(), Checkpoint::read(&note).unwrap().root());
    let text = |name: &str| match &last[name] {
        Field::Str(text) => text.as_str(),
        Field::Null => "null",
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!((text("kind"), text("outcome"), text("agent_id")), ("rejected", "refused", "null"));
    assert_eq!((text("codes"), text("tool")), ("VAL-001 VAL-007", "read_file"));
    assert_eq!(text("gen_ai.operation.name"), "execute_tool");
    assert_eq!((text("gen_ai.tool.name"), text("error.type")), ("read_file", "refused"));
    assert_eq!(last["request_index"], Field::Long(i64::try_from(request).unwrap()));
    assert_eq!(last["content_bytes"], Field::Long(0));
}
