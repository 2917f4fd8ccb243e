import { createAddressGuard, NameServers } from '@prepaint/outbound'
import { DomainProofs, type ProofParts } from '@prepaint/service/sites/proof/domain-proofs.ts'
import { lookForProof } from '@prepaint/service/sites/proof/look-for-proof.ts'
import type { Config } from '../settings/config.ts'
import type { OpenStore } from './open-database.ts'

/** The proofs of names, for commands: they look as a node does. A node tells owners what is lost. */
export function commandProofs(
  { pool, nowMs }: OpenStore,
  config: Config,
): { proofs: DomainProofs; look: ProofParts['look'] } {
  const guard = createAddressGuard(config.allowedPrivateOrigins)
  const names = new NameServers(config.dnsServers)
  const { edgeTarget: target, notifySpeed } = config
  const look: ProofParts['look'] = (domain) => lookForProof(pool, domain, { guard, names, target })
  const tellLost = async () => {}
  return { proofs: new DomainProofs(pool, { nowMs: () => nowMs }, { look, tellLost }, notifySpeed), look }
}
