"""Makes the server's trunks and rules those of `trunks.yaml`."""

from collections.abc import Callable, Mapping, Sequence

from livekit import api
from livekit.api.sip_service import SipService
from livekit.protocol import sip
from pydantic import SecretStr

from voice_agent.phone import desired
from voice_agent.phone.provisioning import Change, Provisioned, id_of
from voice_agent.phone.trunk_file import TrunkFile


async def read_provisioned(service: SipService) -> Provisioned:
    """Everything that the server stores for telephone calls."""
    inbound = await service.list_inbound_trunk(sip.ListSIPInboundTrunkRequest())
    outbound = await service.list_outbound_trunk(sip.ListSIPOutboundTrunkRequest())
    rules = await service.list_dispatch_rule(sip.ListSIPDispatchRuleRequest())
    return Provisioned(tuple(inbound.items), tuple(outbound.items), tuple(rules.items))


class Provisioner:
    """Carries out changes, one request each.

    Args:
        service: the server.
        wanted: the file.
        secrets: passwords by environment variable.
        agent_name: agent that rules dispatch.
        current: what the server stored when the changes were worked out.
    """

    def __init__(
        self,
        service: SipService,
        wanted: TrunkFile,
        secrets: Mapping[str, SecretStr],
        agent_name: str,
        current: Provisioned,
    ) -> None:
        self._service = service
        self._wanted = wanted
        self._secrets = secrets
        self._agent_name = agent_name
        self._inbound = {trunk.name: trunk for trunk in current.inbound}
        self._outbound = {trunk.name: trunk for trunk in current.outbound}
        self._rules = {rule.name: rule for rule in current.rules}

    async def apply(self, changes: Sequence[Change], tell: Callable[[Change], None]) -> None:
        """Carry out all changes.

        The server refuses a state with two trunks or rules of one number even for a moment, so a
        change that it refuses is tried again after the others, one of which may free the number.

        Raises:
            api.ServerError: no further change can be made. Those that were told are made; applying
                the file again goes on from there.
        """
        pending = list(changes)
        while pending:
            refused: list[Change] = []
            reason: api.ServerError | None = None
            for change in pending:
                if self._waits_for_trunk(change):
                    refused.append(change)
                    continue
                try:
                    await self._carry_out(change)
                except api.ServerError as error:
                    if error.code != "invalid_argument":
                        raise
                    refused.append(change)
                    reason = error
                else:
                    tell(change)
            if reason is not None and len(refused) == len(pending):
                raise reason
            pending = refused

    def _waits_for_trunk(self, change: Change) -> bool:
        """Whether a rule names a trunk that the server has refused so far."""
        if change.kind != "rule" or change.action == "delete":
            return False
        return any(trunk not in self._inbound for trunk in self._wanted.rules[change.name].trunks)

    async def _carry_out(self, change: Change) -> None:
        if change.action == "delete":
            await self._delete(change)
        elif change.kind == "inbound trunk":
            await self._store_inbound(change)
        elif change.kind == "outbound trunk":
            await self._store_outbound(change)
        else:
            await self._store_rule(change)

    async def _delete(self, change: Change) -> None:
        if change.kind == "rule":
            await self._service.delete_dispatch_rule(
                sip.DeleteSIPDispatchRuleRequest(sip_dispatch_rule_id=change.id)
            )
        else:
            await self._service.delete_trunk(sip.DeleteSIPTrunkRequest(sip_trunk_id=change.id))

    async def _store_inbound(self, change: Change) -> None:
        name, current = change.name, self._inbound.get(change.name)
        info = desired.inbound_trunk(name, self._wanted.inbound[name], self._secrets, current)
        if current is None:
            request = sip.CreateSIPInboundTrunkRequest(trunk=info)
            self._inbound[name] = await self._service.create_inbound_trunk(request)
        else:
            await self._service.update_inbound_trunk(current.sip_trunk_id, info)

    async def _store_outbound(self, change: Change) -> None:
        name, current = change.name, self._outbound.get(change.name)
        info = desired.outbound_trunk(name, self._wanted.outbound[name], self._secrets, current)
        if current is None:
            await self._service.create_outbound_trunk(sip.CreateSIPOutboundTrunkRequest(trunk=info))
        else:
            await self._service.update_outbound_trunk(current.sip_trunk_id, info)

    async def _store_rule(self, change: Change) -> None:
        name, current = change.name, self._rules.get(change.name)
        rule = self._wanted.rules[name]
        trunk_ids = [id_of(self._inbound.get(trunk)) for trunk in rule.trunks]
        info = desired.dispatch_rule(name, rule, self._agent_name, trunk_ids, current)
        if current is None:
            request = sip.CreateSIPDispatchRuleRequest(dispatch_rule=info)
            await self._service.create_dispatch_rule(request)
        else:
            await self._service.update_dispatch_rule(current.sip_dispatch_rule_id, info)
