import { scripted } from '../../support/renderer.ts'
import { page, type Theme } from '../corpus-page.ts'

/** Pictures are not fetched, and yet the page must do all that it does once they are there. */
export const images: Theme = {
  'images that load lazily by themselves': {
    document: page`<div style="height: 20000px"></div><img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">`,
    expect: { has: [/<img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">/] },
  },
  'a placeholder that goes when the picture has loaded': {
    document: page`<figure><p id="wait">loading picture</p><img id="pic" src="real.jpg" hidden></figure><script>
          pic.onload = () => { wait.remove(); pic.hidden = false }; pic.onerror = () => { wait.textContent = 'picture is broken' }</script>`,
    expect: { readsNot: ['loading', 'broken'], has: ['<img id="pic" src="real.jpg">'] },
  },
  'pictures fetched ahead by new Image': {
    document: scripted`Promise.all(['a.jpg', 'b.jpg', 'c.jpg'].map((src) => new Promise((done, fail) => { const img = new Image(); img.onload = () => done(img); img.onerror = fail; img.src = src })))
          .then(async (all) => { await Promise.all(all.map((img) => img.decode())); show('gallery of ' + all.filter(({ complete, naturalWidth }) => complete && naturalWidth > 0).length) }, () => show('broken'))`,
    expect: { reads: ['gallery of 3'] },
  },
  'video and audio': {
    document: page`<video poster="still.jpg" controls><source src="film.mp4" type="video/mp4"><track src="en.vtt" kind="captions"></video><audio src="sound.mp3" autoplay></audio><p id="out"></p><script>
          document.querySelector('video').play().catch(() => {}); setTimeout(() => out.append('beside the film'), 1500)</script>`,
    expect: {
      reads: ['beside the film'],
      has: ['<video poster="still.jpg" controls="">', 'film.mp4', 'sound.mp3', 'en.vtt'],
    },
  },
  'text that is drawn on a canvas': {
    limit: true,
    document: page`<canvas width="300" height="50">fallback words</canvas><script>document.querySelector('canvas').getContext('2d').fillText('drawn words', 10, 20)</script>`,
    expect: {
      reads: ['fallback words'],
      readsNot: ['drawn words'],
      has: ['<canvas width="300" height="50">'],
    },
  },
  'a scene of WebGL': {
    limit: true,
    document: page`<h1>ferries</h1><canvas></canvas><p id="out"></p><script>const gl = document.querySelector('canvas').getContext('webgl')
          const make = (type, source) => { const shader = gl.createShader(type); gl.shaderSource(shader, source); gl.compileShader(shader); return shader }
          const draw = () => {
            const program = gl.createProgram()
            gl.attachShader(program, make(gl.VERTEX_SHADER, 'void main() { gl_PointSize = 9.0; gl_Position = vec4(0, 0, 0, 1); }'))
            gl.attachShader(program, make(gl.FRAGMENT_SHADER, 'void main() { gl_FragColor = vec4(1); }'))
            gl.linkProgram(program); gl.useProgram(program); gl.drawArrays(gl.POINTS, 0, 1)
            const pixel = new Uint8Array(4)
            gl.readPixels(150, 75, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel)
            return pixel[0] }
          out.append('the middle is ' + (gl === null ? 0 : draw()))</script>`,
    expect: { reads: ['ferries', 'the middle is 0'] },
  },
  'an SVG made by script': {
    document: page`<div id="chart"></div><script>const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'); svg.setAttribute('viewBox', '0 0 10 10')
          const text = document.createElementNS(ns, 'text'); text.textContent = 'tons & barrels'; const box = document.createElementNS(ns, 'foreignObject'); box.innerHTML = '<p xmlns="http://www.w3.org/1999/xhtml">in the box</p>'
          const use = document.createElementNS(ns, 'use'); use.setAttributeNS('http://www.w3.org/1999/xlink', 'xlink:href', '#icon'); svg.append(text, box, use); chart.append(svg)</script>`,
    expect: {
      reads: ['tons & barrels', 'in the box'],
      has: ['viewBox="0 0 10 10"', '<foreignObject>', 'xlink:href="#icon"'],
    },
  },
}
