//! Typed access past HTTP, for whoever plays another writer: kubelet, a user, a test. Writes go
//! through the same rules and wake the same watches as requests do.

use std::{any::Any, collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Kube,
    failure::Failure,
    list::Query,
    patch::Patch,
    resource::{Resource, find},
    write::{Options, Part, Preconditions, Target},
};

/// A served kind as its Rust type.
pub trait Kind:
    ::kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static
{
}
impl<K: ::kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Kind for K {}

/// What the latest list of each kind was made of, so that the next one reads only what has changed: players of
/// other components list everything at each turn, and reading is most of their work.
#[derive(Default)]
pub(super) struct Memory(BTreeMap<(&'static str, &'static str), Read>);

/// Objects by where they are stored, which stays theirs while they are held here, with what was read from them.
type Read = BTreeMap<usize, (Arc<Value>, Box<dyn Any + Send + Sync>)>;

// === impl Kube ===

impl Kube {
    /// One object; `namespace` is ignored for cluster-wide kinds.
    pub fn get<K: Kind>(&self, namespace: &str, name: &str) -> Option<K> {
        let target = target::<K>(namespace, name).ok()?;
        let object = self.store().get(target).ok()?;
        typed(&object).ok()
    }

    /// All objects of a kind in all namespaces, by namespace and name.
    pub fn list<K: Kind>(&self) -> Vec<K> {
        let Ok(resource) = resource::<K>() else { return Vec::new() };
        let page = self.store().list(resource, None, &Query::default());
        let items = page.map(|page| page.items).unwrap_or_default();
        self.0.memory.lock().read(resource.stored(), items)
    }

    /// Creates an object; a namespaced one without a namespace goes to `default`.
    pub fn create<K: Kind>(&self, object: &K) -> Result<K, Failure> {
        let resource = resource::<K>()?;
        let namespace = namespace_of(resource, object.meta().namespace.as_deref());
        let created = self.store().create(resource, namespace, untyped(object)?, Options::default())?;
        typed(&created)
    }

    /// Replaces an object; with a resourceVersion only if it is still the current one.
    pub fn update<K: Kind>(&self, object: &K) -> Result<K, Failure> {
        self.put(object, Part::Main)
    }

    /// Replaces an object's status.
    pub fn update_status<K: Kind>(&self, object: &K) -> Result<K, Failure> {
        self.put(object, Part::Status)
    }

    /// Reads, changes and writes an object back in one step. `change` must not call this API: nothing
    /// else happens meanwhile.
    pub fn modify<K: Kind>(&self, namespace: &str, name: &str, change: impl FnOnce(&mut K)) -> Result<K, Failure> {
        let target = target::<K>(namespace, name)?;
        let mut store = self.store();
        let mut object: K = typed(&*store.get(target)?)?;
        change(&mut object);
        typed(&*store.update(target, Part::Main, untyped(&object)?, Options::default())?)
    }

    /// Merge-patches an object.
    pub fn patch<K: Kind>(&self, namespace: &str, name: &str, patch: Value) -> Result<K, Failure> {
        self.merge(namespace, name, Part::Main, patch)
    }

    /// Merge-patches an object's status: `{"status": {…}}`.
    pub fn patch_status<K: Kind>(&self, namespace: &str, name: &str, patch: Value) -> Result<K, Failure> {
        self.merge(namespace, name, Part::Status, patch)
    }

    /// Deletes an object; with finalizers it stays until they are gone.
    pub fn delete<K: Kind>(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        let target = target::<K>(namespace, name)?;
        self.store().delete(target, &Preconditions::default(), false).map(drop)
    }

    fn put<K: Kind>(&self, object: &K, part: Part) -> Result<K, Failure> {
        let meta = object.meta();
        let target =
            target::<K>(meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())?;
        typed(&*self.store().update(target, part, untyped(object)?, Options::default())?)
    }

    fn merge<K: Kind>(&self, namespace: &str, name: &str, part: Part, patch: Value) -> Result<K, Failure> {
        let target = target::<K>(namespace, name)?;
        let (_, object) = self.store().patch(target, part, &Patch::Merge(patch), Options::default())?;
        typed(&object)
    }
}

// === impl Memory ===

impl Memory {
    fn read<K: Kind>(&mut self, kind: (&'static str, &'static str), items: Vec<Arc<Value>>) -> Vec<K> {
        let mut before = self.0.remove(&kind).unwrap_or_default();
        let mut now = Read::new();
        let mut all = Vec::with_capacity(items.len());
        for item in items {
            let place = Arc::as_ptr(&item).addr();
            let known = before.remove(&place).map(|(_, read)| read).filter(|read| read.is::<K>());
            let read = known.or_else(|| Some(Box::new(typed::<K>(&item).ok()?) as Box<_>));
            if let Some(read) = read {
                all.extend(read.downcast_ref::<K>().cloned());
                now.insert(place, (item, read));
            }
        }
        self.0.insert(kind, now);
        all
    }
}

fn resource<K: Kind>() -> Result<&'static Resource, Failure> {
    find(&K::group(&()), &K::plural(&())).ok_or_else(Failure::no_such_path)
}

fn target<'a, K: Kind>(namespace: &'a str, name: &'a str) -> Result<Target<'a>, Failure> {
    let resource = resource::<K>()?;
    Ok(Target { resource, namespace: namespace_of(resource, Some(namespace)), name })
}

fn namespace_of<'a>(resource: &Resource, namespace: Option<&'a str>) -> &'a str {
    match namespace {
        _ if !resource.namespaced => "",
        None | Some("") => "default",
        Some(namespace) => namespace,
    }
}

fn untyped<K: Kind>(object: &K) -> Result<Value, Failure> {
    serde_json::to_value(object).map_err(|e| Failure::bad_request(e.to_string()))
}

fn typed<K: Kind>(object: &Value) -> Result<K, Failure> {
    <K as Deserialize>::deserialize(object).map_err(|e| Failure::bad_request(e.to_string()))
}
