import { createAddressGuard, NameServers } from '@prepaint/outbound'
import { DomainProofs, type LookForProof } from '@prepaint/service/sites/proof/domain-proofs.ts'
import { lookForProof } from '@prepaint/service/sites/proof/look-for-proof.ts'
import type { Config } from '../settings/config.ts'
import type { OpenStore } from './open-database.ts'

/** The proofs of names, for commands: they look as a node does. */
export function commandProofs(
  { pool, nowMs }: OpenStore,
  config: Config,
): { proofs: DomainProofs; look: LookForProof } {
  const guard = createAddressGuard(config.allowedPrivateOrigins)
  const names = new NameServers(config.dnsServers)
  const { edgeTarget: target, notifySpeed } = config
  const look: LookForProof = (domain) => lookForProof(pool, domain, { guard, names, target })
  return { proofs: new DomainProofs(pool, { nowMs: () => nowMs }, look, notifySpeed), look }
}
