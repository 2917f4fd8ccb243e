declare global {
  var __zod_globalConfig: { jitless?: boolean } | undefined
}

// Zod compiles schemas with `new Function` where it may. It tries that at the first check, and the content security
// policy would report the attempt. This is zod's own switch, set before any screen loads it.
globalThis.__zod_globalConfig = { jitless: true }

export {}
