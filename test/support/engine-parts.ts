/**
 * Parts of the engine that its door does not give, for benchmarks that measure one part and programs that drive a browser of
 * their own. Nothing else outside packages/engine imports its files.
 */
export { startGateway } from '../../packages/engine/src/gateway/gateway.ts'
export type { GatewaySite } from '../../packages/engine/src/gateway/site.ts'
export { launchBrowser } from '../../packages/engine/src/render/browser/browser-process.ts'
export { type CdpSession, connectCdp } from '../../packages/engine/src/render/browser/cdp.ts'
export { killGroup } from '../../packages/engine/src/render/browser/process-group.ts'
export { signIn } from '../../packages/engine/src/render/tab/sign-in.ts'
export { takeSnapshot } from '../../packages/engine/src/render/visit/snapshot.ts'
