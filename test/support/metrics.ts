/** What PostgreSQL says of a fleet, each figure another number. */
export const FLEET_FIGURES = {
  queue: [{ priority: 'live' as const, queued: 3, headAgeSeconds: 1.5 }],
  running: 2,
  slots: { wanted: 10, fleet: 11 },
  quota: { under_80: 5, '80_to_100': 4, '100_to_120': 3, '120': 1 },
  rendersThisMonth: 1234,
  certificates: { stored: 2, soonestEndSeconds: 86_400, failing: 1 },
  incidents: [{ kind: 'blocked', count: 1 }],
  tasks: [{ kind: 'indexnow', waiting: 4, running: 1, failing: 2, oldestSeconds: 30 }],
  deliveries: { waiting: 1, oldestSeconds: 2 },
  rowsWithoutDay: 0,
  bodies: { late: 6, oldestLateSeconds: 7, condemned: 8, oldestCondemnedSeconds: 9 },
  nodes: { serving: 2, draining: 0, dead: 1 },
}
