// three-vrm at the test's command: asks the server for a verb, does it, posts the answer, asks again.
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { VRMLoaderPlugin, VRMUtils } from "@pixiv/three-vrm";

const renderer = new THREE.WebGLRenderer({ alpha: true, antialias: true, preserveDrawingBuffer: true });
renderer.setPixelRatio(1);
renderer.setClearColor(0x000000, 0);
let held = null;

const list = (vector) => vector.toArray();

function worldOf(node) {
  const position = new THREE.Vector3();
  const rotation = new THREE.Quaternion();
  const scale = new THREE.Vector3();
  node.updateWorldMatrix(true, false);
  node.matrixWorld.decompose(position, rotation, scale);
  return { position: list(position), rotation: list(rotation) };
}

// Drawn meshes with the file's numbers of their node and primitive.
function meshesOf(gltf) {
  const found = [];
  gltf.scene.traverse((object) => {
    if (!object.isMesh) return;
    object.frustumCulled = false;
    const own = gltf.parser.associations.get(object);
    const above = gltf.parser.associations.get(object.parent);
    const primitive = own?.primitives ?? 0;
    const node = own?.nodes ?? above?.nodes;
    found.push({ node, primitive, object });
  });
  return found;
}

// The specification says a screen outline's width is a fraction of the picture's height, and UniVRM draws it so; three-vrm
// takes the fraction of half the height.
function specifiedOutlines(meshes) {
  const outlines = meshes.flatMap(({ object }) => object.material).filter((material) => material.isOutline);
  for (const material of new Set(outlines)) {
    if (material.outlineWidthMode === "screenCoordinates") material.outlineWidthFactor *= 2;
  }
}

// The specification takes a look upwards through the range map for up; for eye bones three-vrm takes the one for down.
function specifiedGaze(applier) {
  if (applier?.constructor.type !== "bone") return;
  const { rangeMapVerticalUp, rangeMapVerticalDown } = applier;
  Object.assign(applier, { rangeMapVerticalUp: rangeMapVerticalDown, rangeMapVerticalDown: rangeMapVerticalUp });
}

async function load({ url }) {
  if (held) {
    VRMUtils.deepDispose(held.gltf.scene);
    renderer.renderLists.dispose();
    held = null;
  }
  const loader = new GLTFLoader();
  loader.register((parser) => new VRMLoaderPlugin(parser));
  const gltf = await loader.loadAsync(url);
  const vrm = gltf.userData.vrm;
  if (!vrm) throw new Error("three-vrm finds no VRM in it");
  VRMUtils.rotateVRM0(vrm);
  const scene = new THREE.Scene();
  scene.add(vrm.scene);
  const light = new THREE.DirectionalLight(0xffffff, Math.PI);
  light.position.set(0.4, 1, 1);
  scene.add(light, new THREE.AmbientLight(0xffffff, 0.5));
  scene.updateMatrixWorld(true);
  const nodes = await gltf.parser.getDependencies("node");
  held = { gltf, vrm, scene, nodes, meshes: meshesOf(gltf) };
  specifiedOutlines(held.meshes);
  specifiedGaze(vrm.lookAt?.applier);
  const bones = {};
  for (const name of Object.keys(vrm.humanoid.humanBones)) {
    bones[name] = { node: nodes.indexOf(vrm.humanoid.getRawBoneNode(name)), ...worldOf(vrm.humanoid.getRawBoneNode(name)) };
  }
  return {
    version: vrm.meta.metaVersion,
    title: vrm.meta.metaVersion === "0" ? vrm.meta.title : vrm.meta.name,
    bones,
    expressions: vrm.expressionManager ? Object.keys(vrm.expressionManager.expressionMap) : [],
    springs: [...(vrm.springBoneManager?.joints ?? [])].map((joint) => nodes.indexOf(joint.bone)),
    lookAt: vrm.lookAt ? vrm.lookAt.applier.constructor.type : null,
    meshes: held.meshes.map(({ node, primitive, object }) => ({
      node,
      primitive,
      corners: (object.geometry.index ?? object.geometry.attributes.position).count,
      morphs: object.morphTargetInfluences?.length ?? 0,
    })),
  };
}

// Turns are of the normalised humanoid. The gaze is a point in the world or null.
function pose({ turns = {}, expressions = {}, target = null, steps = 0, seconds = 0, reset = true }) {
  const { vrm } = held;
  vrm.humanoid.resetNormalizedPose();
  for (const [name, turn] of Object.entries(turns)) {
    vrm.humanoid.getNormalizedBoneNode(name).quaternion.fromArray(turn);
  }
  if (vrm.expressionManager) {
    vrm.expressionManager.resetValues();
    for (const [name, weight] of Object.entries(expressions)) vrm.expressionManager.setValue(name, weight);
  }
  if (vrm.lookAt) {
    vrm.lookAt.reset();
    vrm.lookAt.target = null;
    if (target) {
      vrm.humanoid.update();
      held.scene.updateMatrixWorld(true);
      vrm.lookAt.lookAt(new THREE.Vector3().fromArray(target));
    }
  }
  // The head's place must be known before the springs start from rest in it.
  if (reset) {
    vrm.update(0);
    held.scene.updateMatrixWorld(true);
    vrm.springBoneManager?.reset();
  }
  if (steps === 0) vrm.update(0);
  for (let i = 0; i < steps; i++) {
    // three-vrm measures a bone's length to where its child was a frame ago; moved parents first, that is its length.
    vrm.humanoid.update();
    held.scene.updateMatrixWorld(true);
    vrm.update(seconds);
  }
  held.scene.updateMatrixWorld(true);
  return state();
}

function state() {
  const { vrm, gltf, meshes, nodes } = held;
  const bones = {};
  for (const name of Object.keys(vrm.humanoid.humanBones)) bones[name] = worldOf(vrm.humanoid.getRawBoneNode(name));
  const morphs = {};
  for (const { node, object } of meshes) morphs[node] = [...(object.morphTargetInfluences ?? [])];
  const materials = {};
  for (const { object } of meshes) {
    for (const material of [object.material].flat()) {
      const index = gltf.parser.associations.get(material)?.materials;
      if (index === undefined || material.isOutline) continue;
      const colors = {};
      for (const key of ["color", "shadeColorFactor", "emissive", "parametricRimColorFactor", "matcapFactor", "outlineColorFactor"]) {
        if (material[key]?.isColor) colors[key] = material[key].toArray();
      }
      if (material.map) {
        colors.offset = list(material.map.offset);
        colors.repeat = list(material.map.repeat);
      }
      materials[index] = colors;
    }
  }
  const springs = [...(vrm.springBoneManager?.joints ?? [])].map((joint) => ({
    node: nodes.indexOf(joint.bone),
    ...worldOf(joint.bone),
  }));
  const gaze = vrm.lookAt ? [vrm.lookAt.yaw, vrm.lookAt.pitch] : null;
  return { bones, morphs, materials, springs, gaze };
}

// World positions of every ``stride``-th corner of the triangles of each mesh, morphed and skinned.
function corners({ stride }) {
  const point = new THREE.Vector3();
  return held.meshes.map(({ node, primitive, object }) => {
    const index = object.geometry.index;
    const count = (index ?? object.geometry.attributes.position).count;
    const positions = [];
    for (let i = 0; i < count; i += stride) {
      object.getVertexPosition(index ? index.getX(i) : i, point);
      positions.push(...list(point.applyMatrix4(object.matrixWorld)));
    }
    return { node, primitive, positions };
  });
}

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
}

// RGBA with premultiplied alpha, first row at the bottom. Matrices are row-major.
function picture({ view, projection, width, height, outlines = true }) {
  const camera = new THREE.PerspectiveCamera();
  camera.matrixAutoUpdate = camera.matrixWorldAutoUpdate = false;
  camera.matrixWorldInverse.set(...view);
  camera.matrixWorld.copy(camera.matrixWorldInverse).invert();
  camera.projectionMatrix.set(...projection);
  camera.projectionMatrixInverse.copy(camera.projectionMatrix).invert();
  renderer.setSize(width, height, false);
  const hidden = [];
  for (const { object } of held.meshes) {
    for (const material of [object.material].flat()) {
      if (material.isOutline && !outlines && material.visible) {
        material.visible = false;
        hidden.push(material);
      }
    }
  }
  renderer.render(held.scene, camera);
  for (const material of hidden) material.visible = true;
  const gl = renderer.getContext();
  const pixels = new Uint8Array(width * height * 4);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  return base64(pixels);
}

function about() {
  const gl = renderer.getContext();
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  return {
    three: THREE.REVISION,
    drawnBy: gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER),
    samples: gl.getParameter(gl.SAMPLES),
  };
}

const verbs = { about, load, pose, corners, picture };
for (;;) {
  const { verb, parameters } = await (await fetch("/next")).json();
  if (verb === "end") break;
  let answer;
  try {
    answer = { value: await verbs[verb](parameters) };
  } catch (error) {
    answer = { fault: `${error.stack}` };
  }
  await fetch("/answer", { method: "POST", body: JSON.stringify(answer) });
}
