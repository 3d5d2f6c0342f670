import struct
import zlib

import numpy as np
import pytest

from pytest_procure.datasets import Dataset
from pytest_procure.errors import DataError, DeclarationError

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def pictures(tmp_path):
    for label, colour in {"cat": 10, "dog": 200}.items():
        (tmp_path / "animals" / label).mkdir(parents=True)
        for number in range(2):
            picture = Image.new("L", (6, 4), colour + number)
            picture.save(tmp_path / "animals" / label / f"{number}.png")
    return tmp_path


def test_a_subfolder_is_a_label(pictures):
    data = Dataset.from_images("animals", pictures / "animals", mode="L")
    assert data.references == ["cat", "cat", "dog", "dog"]
    assert [int(picture[0, 0]) for picture in data.inputs] == [10, 11, 200, 201]
    assert data.inputs[0].shape == (4, 6)


def test_pictures_are_given_as_asked(pictures):
    data = Dataset.from_images("animals", pictures / "animals", mode="RGB", size=(3, 2))
    assert (data.inputs[0].shape, data.inputs[0].dtype) == ((2, 3, 3), np.uint8)


def test_another_form_is_another_digest(pictures):
    one, other = (Dataset.from_images("a", pictures / "animals", mode=mode) for mode in ("L", "RGB"))
    assert one.slice().digest != other.slice().digest


def test_a_table_names_files_and_labels(pictures):
    (pictures / "labels.csv").write_text("file,label,site\ncat/0.png,7,north\ndog/1.png,8,south\n")
    data = Dataset.from_images(
        "animals", pictures / "animals", labels=pictures / "labels.csv", mode="L", stratum="site"
    )
    assert data.references == ["7", "8"]
    assert data.strata.tolist() == ["north", "south"]
    assert int(data.inputs[1][0, 0]) == 201


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "link.png", "a\0b", "x" * 5000])
def test_a_table_cannot_name_files_outside_of_the_folder(pictures, name):
    Image.new("L", (1, 1)).save(pictures / "secret.png")
    (pictures / "animals" / "link.png").symlink_to(pictures / "secret.png")
    (pictures / "labels.csv").write_text(f"file,label\ncat/0.png,1\n{name},2\n")
    with pytest.raises(DataError, match=r"labels.csv, line 3") as refusal:
        Dataset.from_images("a", pictures / "animals", labels=pictures / "labels.csv")
    assert str(pictures) not in str(refusal.value)


def test_a_link_out_of_the_folder_is_refused_without_a_table_too(pictures):
    Image.new("L", (1, 1)).save(pictures / "secret.png")
    (pictures / "animals" / "cat" / "link.png").symlink_to(pictures / "secret.png")
    with pytest.raises(DataError, match="leads out of the folder"):
        Dataset.from_images("a", pictures / "animals")


def test_a_picture_that_unpacks_to_too_much_is_refused(pictures, monkeypatch):
    monkeypatch.setattr("pytest_procure.datasets.images.MOST_PIXELS", 20)
    with pytest.raises(DataError, match=r"cat/0.png: more than 20 pixels"):
        Dataset.from_images("a", pictures / "animals")


def test_a_bomb_by_its_own_head_is_refused(pictures):
    (pictures / "animals" / "cat" / "0.png").unlink()
    Image.new("1", (20_000, 20_000)).save(pictures / "animals" / "cat" / "0.png")
    with pytest.raises(DataError, match="more than 64,000,000 pixels"):
        Dataset.from_images("a", pictures / "animals")


@pytest.mark.parametrize("content", [b"", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"hello"])
def test_what_is_no_picture_is_told(pictures, content):
    (pictures / "animals" / "cat" / "0.png").write_bytes(content)
    with pytest.raises(DataError, match=r"cat/0.png: no picture") as refusal:
        Dataset.from_images("a", pictures / "animals")
    assert str(pictures) not in str(refusal.value)


def test_a_picture_damaged_in_the_middle_is_told_when_it_is_read(pictures):
    file = pictures / "animals" / "cat" / "0.png"
    Image.effect_noise((300, 300), 80).save(file)
    file.write_bytes(file.read_bytes()[:2000])
    data = Dataset.from_images("a", pictures / "animals")
    with pytest.raises(DataError, match=r"cat/0.png: damaged picture"):
        data.inputs[0]


def test_a_folder_without_subfolders_is_told(tmp_path):
    with pytest.raises(DataError, match="no subfolder with pictures"):
        Dataset.from_images("a", tmp_path)


@pytest.mark.parametrize("form", [{"mode": "CMYK"}, {"size": (0, 3)}, {"size": 64}])
def test_a_form_that_cannot_be_meant_is_refused(pictures, form):
    with pytest.raises(DeclarationError):
        Dataset.from_images("a", pictures / "animals", **form)


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("name", ["deep.png", "deep.tif"])
def test_a_picture_of_16_bits_is_refused_and_not_clipped(pictures, name, mode):
    Image.fromarray(np.full((4, 4), 30_000, dtype=np.uint16)).save(pictures / "animals" / "cat" / name)
    with pytest.raises(DataError, match=rf"cat/{name}: more than 8 bits a channel .*scale it to 8 bits"):
        Dataset.from_images("a", pictures / "animals", mode=mode)


def test_a_coloured_picture_of_16_bits_is_refused_and_not_cut(pictures):
    rows = b"".join(b"\0" + bytes(range(24)) for _ in range(4))
    (pictures / "animals" / "cat" / "deep.png").write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 16, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    with pytest.raises(DataError, match=r"cat/deep.png: more than 8 bits a channel \(RGB;16B\)"):
        Dataset.from_images("a", pictures / "animals")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_upright(pictures, orientation):
    from PIL import ImageOps

    picture = Image.effect_noise((6, 4), 80)
    told = picture.getexif()
    told[274] = orientation
    picture.save(pictures / "animals" / "cat" / "0.png", exif=told)
    data = Dataset.from_images("a", pictures / "animals", mode="L")
    with Image.open(pictures / "animals" / "cat" / "0.png") as saved:
        upright = np.asarray(ImageOps.exif_transpose(saved))
    assert np.array_equal(data.inputs[0], upright)


def test_a_jpeg_of_any_name_is_loaded(pictures):
    Image.new("L", (6, 4), 90).save(pictures / "animals" / "cat" / "2.jfif", "JPEG")
    assert Dataset.from_images("a", pictures / "animals").references.count("cat") == 3


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cat/more/2.png", "cat/more: a folder within a label's"),
        ("cat/2.xcf", "cat/2.xcf: no picture by its name"),
        ("2.png", "2.png: lies in no subfolder, so it has no label"),
    ],
)
def test_no_picture_is_passed_over(pictures, name, told):
    place = pictures / "animals" / name
    place.parent.mkdir(exist_ok=True)
    Image.new("L", (6, 4)).save(place, "PNG")
    with pytest.raises(DataError, match=told):
        Dataset.from_images("a", pictures / "animals")


@pytest.mark.parametrize("name", ["cat/.DS_Store", "cat/Thumbs.db", "README.md"])
def test_what_is_no_picture_by_custom_is_passed_over(pictures, name):
    (pictures / "animals" / name).write_text("x")
    assert len(Dataset.from_images("a", pictures / "animals")) == 4
