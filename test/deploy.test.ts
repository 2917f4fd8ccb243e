/** compose.yaml, the Kubernetes manifests, the unit, the Dockerfile and the lock file agree with each other and with the product. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { settingDefaults } from '../src/config.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }
/** Not in CI's image. */
const isInstalled = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
const dockerfile = read('Dockerfile')

type Labels = Record<string, string>
type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }
type Container = {
  env: Variable[]
  ports: { name: string; containerPort: number }[]
  volumeMounts: { name: string; mountPath: string }[]
  securityContext: {
    readOnlyRootFilesystem: boolean
    allowPrivilegeEscalation: boolean
    capabilities: { drop: string[] }
  }
} & Record<'startupProbe' | 'readinessProbe' | 'livenessProbe', { httpGet: { path: string; port: string } }>
type Pod = {
  containers: [Container]
  volumes: { name: string }[]
  securityContext: { runAsNonRoot: boolean; runAsUser: number; seccompProfile: { type: string } }
}
type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string }
  spec: {
    selector: Labels & { matchLabels: Labels }
    podSelector: { matchLabels: Labels }
    scaleTargetRef: { kind: string; name: string }
    ports: { targetPort: string }[]
    egress: { to: { ipBlock?: { cidr: string; except: string[] } }[] }[]
    template: { metadata: { labels: Labels }; spec: Pod }
  }
}

const folder = 'deploy/kubernetes'
const kustomization = parse(read(`${folder}/kustomization.yaml`)) as {
  resources: string[]
  images: { name: string; newTag: string }[]
  configMapGenerator: { name: string; literals: string[] }[]
}
const manifests = kustomization.resources.flatMap((file) =>
  parseAllDocuments(read(`${folder}/${file}`)).map((document) => document.toJS() as Manifest),
)
const ofKind = (kind: string) => manifests.filter((each) => each.kind === kind)
const deployments = ofKind('Deployment')
const deployment = (labels: Labels): Manifest => {
  const component = labels['app.kubernetes.io/component']
  const found = deployments.filter(
    ({ spec }) => spec.template.metadata.labels['app.kubernetes.io/component'] === component,
  )
  assert.equal(found.length, 1, `one deployment for ${component}`)
  return found[0]!
}

describe('the Kubernetes manifests', () => {
  it('name every file once', () => {
    const files = readdirSync(path.join(ROOT, folder)).filter((file) => file !== 'kustomization.yaml')
    assert.deepEqual(kustomization.resources.toSorted(), files.toSorted())
  })

  it('run each role as a deployment of its own, with settings that exist', () => {
    const roles = deployments.map(({ spec }) =>
      spec.template.spec.containers[0].env.find(({ name }) => name === 'PREPAINT_ROLES'),
    )
    assert.deepEqual(roles.map((role) => role?.value).sort(), ['api', 'edge', 'render'])
    const known = settingDefaults()
    const literals = kustomization.configMapGenerator
      .flatMap((each) => each.literals)
      .map((each) => each.split('=')[0]!)
    const named = deployments.flatMap(({ spec }) =>
      spec.template.spec.containers[0].env.map(({ name }) => name),
    )
    for (const name of [...literals, ...named]) assert.ok(known.has(name), name)
  })

  it('take secrets by reference, without privileges, with a read-only root and probes that the product answers', () => {
    for (const { spec } of deployments) {
      const pod = spec.template.spec
      const [container] = pod.containers
      for (const { name, value, valueFrom } of container.env) {
        if (/DATABASE_URL|KEY|TOKEN/.test(name))
          assert.deepEqual([value, valueFrom?.secretKeyRef.name], [undefined, 'prepaint'])
      }
      const { runAsNonRoot, runAsUser, seccompProfile } = pod.securityContext
      assert.deepEqual([runAsNonRoot, runAsUser], [true, 1000])
      assert.match(seccompProfile.type, /^(RuntimeDefault|Localhost)$/)
      assert.deepEqual(container.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      const ports = container.ports.map(({ name }) => name)
      for (const [probe, at] of [
        ['startupProbe', '/readyz'],
        ['readinessProbe', '/readyz'],
        ['livenessProbe', '/healthz'],
      ] as const) {
        assert.equal(container[probe].httpGet.path, at)
        assert.ok(ports.includes(container[probe].httpGet.port))
      }
      const volumes = pod.volumes.map(({ name }) => name)
      for (const { name } of container.volumeMounts) assert.ok(volumes.includes(name), name)
      for (const at of ['/tmp', '/var/lib/prepaint'])
        assert.ok(container.volumeMounts.some(({ mountPath }) => mountPath === at))
    }
  })

  it('services, disruption budgets, autoscaling and policies select pods and ports that exist', () => {
    for (const { spec } of ofKind('Service')) {
      const ports = deployment(spec.selector).spec.template.spec.containers[0].ports.map(({ name }) => name)
      for (const { targetPort } of spec.ports) assert.ok(ports.includes(targetPort), targetPort)
    }
    assert.deepEqual(
      ofKind('PodDisruptionBudget')
        .map(({ spec }) => deployment(spec.selector.matchLabels).metadata.name)
        .sort(),
      ['api', 'edge', 'render'],
    )
    for (const { spec } of ofKind('HorizontalPodAutoscaler')) {
      assert.ok(deployments.some(({ metadata }) => metadata.name === spec.scaleTargetRef.name))
    }
    const [policy] = ofKind('NetworkPolicy')
    assert.equal(deployment(policy!.spec.podSelector.matchLabels).metadata.name, 'render')
    const blocks = policy!.spec.egress.flatMap(({ to }) => to).flatMap(({ ipBlock }) => ipBlock ?? [])
    assert.equal(blocks.map(({ cidr }) => cidr).join(), '0.0.0.0/0,::/0')
    for (const range of ['10.0.0.0/8', '169.254.0.0/16', 'fc00::/7']) {
      assert.ok(
        blocks.some(({ except }) => except.includes(range)),
        range,
      )
    }
  })

  it('have fields and types of Kubernetes 1.30, and no others', (t) => {
    const misspelt = structuredClone(deployments[0]!)
    Object.assign(misspelt.spec.template.spec.containers[0], { readinesProbe: {} })
    const [error, ...others] = typeErrors([...manifests, misspelt], t)
    assert.match(error ?? '', /'"readinesProbe"' does not exist/)
    assert.deepEqual(others, [])
  })

  it('build with kustomize', () => {
    if (!isInstalled('kubectl')) return
    const { status, stderr } = spawnSync('kubectl', ['kustomize', path.join(ROOT, folder)], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
  })
})

/** What the compiler says of these manifests as values of the types that are made from Kubernetes' own API description. */
function typeErrors(checked: readonly Manifest[], t: TestContext): string[] {
  const place = mkdtempSync(path.join(tmpdir(), 'prepaint-manifests-'))
  t.after(() => rmSync(place, { recursive: true }))
  const source = checked.map((manifest, index) => {
    const [group, version] = `core/${manifest.apiVersion}`.split('/').slice(-2)
    const types = path.join(ROOT, 'node_modules/kubernetes-types', group!.split('.')[0]!, `${version}.js`)
    return `export const m${index}: import('${types}').${manifest.kind} = ${JSON.stringify(manifest)}\n`
  })
  const file = path.join(place, 'manifests.ts')
  writeFileSync(file, source.join(''))
  const { stdout } = spawnSync(
    path.join(ROOT, 'node_modules/.bin/tsc'),
    ['--noEmit', '--strict', '--skipLibCheck', '--types', '', '--module', 'nodenext', file],
    { cwd: place, encoding: 'utf8' },
  )
  return stdout.split('\n').filter((line) => line !== '')
}

describe('arm64', () => {
  it('has every native package of x64, in the same version, and a Dockerfile without a processor in it', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<
        string,
        { version: string; cpu?: string | string[]; dev?: boolean; optional?: boolean }
      >
    }
    const shipped = Object.entries(packages).filter(([, { cpu, dev }]) => cpu !== undefined && dev !== true)
    const ofProcessor = (processor: string) =>
      shipped
        .filter(([, { cpu }]) => [cpu].flat().includes(processor))
        .map(([at, { version }]) => [at, version])
    const named = (list: ReturnType<typeof ofProcessor>) =>
      list.map(([at, version]) => `${at!.replace(/x64|arm64/, '')} ${version}`).sort()
    assert.equal(ofProcessor('x64').length, 2, 'Node and PostgreSQL')
    assert.deepEqual(named(ofProcessor('arm64')), named(ofProcessor('x64')))
    assert.equal(shipped.length, 4)
    assert.doesNotMatch(dockerfile, /amd64|arm64|x86[_-]64|x64|aarch64/)
  })
})

describe('the other ways to deploy', () => {
  it('name the version of the package', () => {
    assert.match(dockerfile, new RegExp(`image\\.version="${version}"`))
    assert.match(read('compose.yaml'), new RegExp(`image: prepaint:${version}$`, 'm'))
    assert.deepEqual(
      kustomization.images.map(({ newTag }) => newTag),
      [version],
    )
    assert.match(read('CHANGELOG.md'), new RegExp(`^## ${version}`, 'm'))
  })

  it('compose.yaml publishes the ports of the image, and settings that exist', () => {
    const { services } = parse(read('compose.yaml')) as {
      services: {
        prepaint: { environment: Labels; ports: string[]; read_only: boolean; security_opt: string[] }
      }
    }
    const { environment, ports, security_opt } = services.prepaint
    for (const name of Object.keys(environment)) assert.ok(settingDefaults().has(name), name)
    const exposed = /^EXPOSE (.+)$/m.exec(dockerfile)![1]!.split(' ')
    assert.deepEqual(ports.map((port) => port.split(':').at(-1)).sort(), exposed.sort())
    const profile = security_opt.find((each) => each.startsWith('seccomp='))!.slice('seccomp='.length)
    const { syscalls } = JSON.parse(read(profile)) as { syscalls: { names: string[] }[] }
    const refused = syscalls.flatMap(({ names }) => names)
    // What Chromium's sandbox needs.
    for (const name of ['clone', 'clone3', 'unshare', 'chroot', 'setns'])
      assert.ok(!refused.includes(name), name)
  })

  it('the unit lets Chromium change its root: a second filter would take the call away again', () => {
    const filters = read('deploy/systemd/prepaint.service').match(/^SystemCallFilter=.*$/gm)
    assert.deepEqual(filters, ['SystemCallFilter=@system-service chroot'])
  })

  it('the unit passes systemd-analyze, with an exposure of 3.0 at most', () => {
    if (!isInstalled('systemd-analyze')) return
    const unit = path.join(ROOT, 'deploy/systemd/prepaint.service')
    const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
    assert.deepEqual([verified.status, verified.stderr], [0, ''])
    const security = spawnSync('systemd-analyze', ['security', '--offline=yes', '--threshold=30', unit], {
      encoding: 'utf8',
    })
    assert.equal(security.status, 0, security.stdout.split('\n').at(-2))
  })
})
