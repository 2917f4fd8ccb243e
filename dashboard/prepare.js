// Runs at the end of `npm ci` (script "prepare"): builds the dashboard where its tools were installed.
let hasVite = true
try {
  import.meta.resolve('vite')
} catch {
  hasVite = false
}
const [major, minor] = process.versions.node.split('.').map(Number)
if (!hasVite) {
  console.log('Prepaint: the dashboard was not built, as vite is not installed (--omit=dev).')
} else if (major < 22 || (major === 22 && minor < 18)) {
  console.log('Prepaint: the dashboard was not built, as that takes Node 22.18 or newer; run npm run build.')
} else {
  await import('./build.ts')
}
