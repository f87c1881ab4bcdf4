//! VPC: route tables and their entries.

mod changes;
mod wire;

use async_trait::async_trait;

use super::{
    Alibaba,
    rpc::{Product, Request},
};
use crate::cloud::{Error, Route, RouteChange, RouteOutcome, RouteTable, RouteTableId, Routes};

/// The page sizes, the largest that the documentation allows.
const TABLES_PER_PAGE: usize = 50;
const ENTRIES_PER_PAGE: usize = 100;

#[async_trait]
impl Routes for Alibaba {
    async fn route_tables(&self) -> Result<Vec<RouteTable>, Error> {
        let vpc = self.vpc().await?;
        let request = Request::read(Product::Vpc, "DescribeRouteTableList").about(&vpc).param("VpcId", &vpc);
        let tables = self.client().read_numbered::<wire::Tables>(request, TABLES_PER_PAGE).await?;
        Ok(tables.into_iter().map(wire::Table::into_table).collect())
    }

    async fn routes(&self, table: &RouteTableId) -> Result<Vec<Route>, Error> {
        let request = Request::read(Product::Vpc, "DescribeRouteEntryList")
            .about(table)
            .param("RouteTableId", table)
            .param("RouteEntryType", "Custom")
            .param("MaxResult", ENTRIES_PER_PAGE);
        let entries = self.client().read_by_token::<wire::Entries>(request).await?;
        Ok(entries.into_iter().filter_map(wire::Entry::into_route).collect())
    }

    async fn create_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        self.change_routes(changes::Change::Create, table, routes).await
    }

    async fn delete_routes(&self, table: &RouteTableId, routes: &[RouteChange]) -> Result<Vec<RouteOutcome>, Error> {
        self.change_routes(changes::Change::Delete, table, routes).await
    }
}

#[cfg(test)]
mod tests;
