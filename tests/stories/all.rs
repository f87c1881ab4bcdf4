//! The list of stories. A line here is a test on either cluster.

/// Makes a test of each story, played by the given function.
#[macro_export]
macro_rules! each_story {
    ($play:ident) => {
        each_story! { $play:
            nodes::pods_run_once_their_node_is_initialised;
            autoscaling::a_scaling_group_goes_from_3_to_30_and_back;
            nodes::the_node_of_a_released_instance_goes_with_its_route_and_member;
            nodes::a_stopped_instance_is_marked_until_it_is_back;
            routes::every_node_gets_its_route_and_foreign_entries_stay;
            pods::pods_come_and_go_with_one_lookup_each;
            pods::a_pod_without_interface_holds_nobody_back_and_is_told;
            listeners::an_http_port_sends_on_to_its_https_port;
            listeners::a_setting_is_changed_in_place;
            listeners::the_status_shows_a_host_name_when_asked;
            services::a_load_balancer_bears_the_released_controllers_marks;
            services::a_service_lives_from_creation_to_deletion;
            services::members_follow_nodes_and_traffic_policy;
            services::two_services_do_not_mind_each_other;
            network::a_network_load_balancer_follows_its_service_and_goes_with_it;
            network::leaders_killed_while_a_network_load_balancer_is_made_leave_one;
            conflicts::what_others_change_meanwhile_is_kept_and_the_work_gets_done;
            readiness::a_rolling_update_waits_until_new_pods_are_registered;
            readiness::a_rolling_update_waits_until_the_network_load_balancer_is_done;
            readiness::a_pod_that_came_while_nobody_led_becomes_ready;
            events::what_was_done_and_what_is_wrong_is_told;
            outages::a_leader_cut_off_is_followed_and_writes_no_more;
            outages::an_outage_longer_than_the_lease_is_made_up_for;
            outages::connections_that_break_all_the_time_delay_the_work_and_no_more;
            outages::a_slow_watch_leads_to_no_stale_decision;
            outages::constant_edits_by_others_cause_no_flood;
            replicas::a_killed_leader_is_followed_without_a_write;
            replicas::a_stopped_leader_gives_its_lease_back;
        }
    };
    ($play:ident: $($file:ident::$story:ident;)+) => {
        $(#[test] fn $story() { $play($crate::$file::$story); })+
    };
}
