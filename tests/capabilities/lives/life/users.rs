//! What users of the cluster do: Services, and the endpoints that they make by hand.

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use serde_json::{Value, json};

use super::{
    super::{
        dice::Dice,
        wish::{Behind, NAMES, Wish},
    },
    Life,
};

impl Life {
    pub(super) fn expose(&mut self) -> Option<String> {
        let name = self.dice.choose(&NAMES);
        // A new one of this name has to wait until the old one is gone.
        if self.wishes.contains_key(name) || self.stage.service(name).is_some() {
            return None;
        }
        let wish = Wish::new(&self.dice, self.cast, name, &self.foreign);
        let metadata = json!({ "name": name, "namespace": "default", "annotations": wish.annotations() });
        let service = json!({ "metadata": metadata, "spec": wish.spec(name) });
        self.stage.world.kube.create::<Service>(&serde_json::from_value(service).unwrap()).unwrap();
        let said = format!("{name} is created: {wish:?}");
        self.wishes.insert(name, wish);
        self.write_slice(name);
        Some(said)
    }

    /// Changes the wish of a Service that is there.
    pub(super) fn change(&mut self, change: impl FnOnce(&Dice, &mut Wish, &str)) -> Option<String> {
        let names: Vec<&'static str> = self.wishes.keys().copied().collect();
        let name = *self.dice.pick(&names)?;
        let wish = self.wishes.get_mut(name)?;
        change(&self.dice, wish, name);
        let (patch, said) = (wish.patch(name), format!("{name} changes: {wish:?}"));
        self.patch(name, patch);
        self.write_slice(name);
        Some(said)
    }

    pub(super) fn patch(&self, name: &str, patch: Value) {
        self.stage.world.kube.patch::<Service>("default", name, patch).unwrap();
    }

    pub(super) fn repaint(&mut self) -> Option<String> {
        self.change(|dice, wish, _| wish.repaint(dice))
    }

    pub(super) fn reopen(&mut self) -> Option<String> {
        self.change(|dice, wish, name| wish.reopen(dice, name))
    }

    pub(super) fn turn(&mut self) -> Option<String> {
        self.change(|_, wish, _| wish.turn())
    }

    pub(super) fn retype(&mut self) -> Option<String> {
        self.change(|_, wish, _| wish.retype())
    }

    pub(super) fn err(&mut self) -> Option<String> {
        self.change(|dice, wish, _| if dice.chance(50) { wish.err(dice) } else { wish.think_better() })
    }

    pub(super) fn convert(&mut self) -> Option<String> {
        let mut converted = false;
        let said = self.change(|dice, wish, _| converted = wish.convert(dice));
        said.filter(|_| converted)
    }

    pub(super) fn delete(&mut self) -> Option<String> {
        let names: Vec<&'static str> = self.wishes.keys().copied().collect();
        let name = *self.dice.pick(&names)?;
        self.wishes.remove(name);
        self.stage.world.kube.delete::<Service>("default", name).unwrap();
        let _ = self.stage.world.kube.delete::<EndpointSlice>("default", &format!("{name}-hand"));
        Some(format!("{name} is deleted"))
    }

    pub(super) fn relist(&mut self) -> Option<String> {
        let by_hand = |(name, wish): (&&'static str, &Wish)| (wish.behind == Behind::Slices).then_some(*name);
        let names: Vec<&'static str> = self.wishes.iter().filter_map(by_hand).collect();
        let name = *self.dice.pick(&names)?;
        self.write_slice(name);
        Some(format!("other endpoints for {name}"))
    }

    /// The slice of a Service whose endpoints are made by hand.
    pub(super) fn write_slice(&self, name: &str) {
        let Some(wish) = self.wishes.get(name).filter(|wish| wish.behind == Behind::Slices) else { return };
        let endpoints: Vec<Value> = self
            .addresses
            .iter()
            .filter(|_| self.dice.chance(60))
            .map(|address| {
                let target = json!({ "kind": "Pod", "name": address, "uid": format!("uid-{address}") });
                json!({ "addresses": [address], "conditions": { "ready": !self.dice.chance(20) }, "targetRef": target })
            })
            .collect();
        let ports: Vec<Value> = wish
            .ports
            .as_array()
            .unwrap()
            .iter()
            .map(|port| json!({ "name": port["name"], "port": port["targetPort"], "protocol": port["protocol"] }))
            .collect();
        let slice: EndpointSlice = serde_json::from_value(json!({
            "metadata": {
                "name": format!("{name}-hand"), "namespace": "default", "labels": { "kubernetes.io/service-name": name },
            },
            "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
        }))
        .unwrap();
        let there = self.stage.world.kube.modify::<EndpointSlice>("default", &format!("{name}-hand"), |there| {
            there.endpoints.clone_from(&slice.endpoints);
            there.ports.clone_from(&slice.ports);
        });
        if there.is_err() {
            self.stage.world.kube.create(&slice).unwrap();
        }
    }
}
