/** Whether a customer may have this address as his origin, and its one spelling. `reason` is for people. */
export type CheckOrigin = (
  raw: string,
) => Promise<{ ok: true; originUrl: string } | { ok: false; reason: string }>
